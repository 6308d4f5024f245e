/**
 * The simulator by hand.
 *
 *     node verify/simulator/main.ts --seed 7                 one seed; its trace if it fails
 *     node verify/simulator/main.ts --seeds 1-100 --jobs 2   many, and which fault struck which service
 *     node verify/simulator/main.ts --seed 7 --minimise      a failing seed with what it does not need left out, kept in verify/seeds
 *     node verify/simulator/main.ts --plan FILE              what was kept
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { minimise } from './minimise.ts'
import { type Plan, planOf } from './plan.ts'
import { failureText, Summary } from './report.ts'
import { runHere, runInProcesses, runPlan, type SeedOutcome } from './run-seeds.ts'

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    seeds: { type: 'string' },
    jobs: { type: 'string', default: '1' },
    plan: { type: 'string' },
    minimise: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
})

function print(text: string): void {
  process.stdout.write(`${text}\n`)
}

/** `7`, `1,3,5` or `1-100`. */
function seedsOf(text: string): number[] {
  return text.split(',').flatMap((part) => {
    const [from = 1, to = from] = part.split('-').map(Number)
    return Array.from({ length: to - from + 1 }, (_, at) => from + at)
  })
}

const summary = new Summary()

function tell(outcome: SeedOutcome): void {
  if (outcome.tag === 'held') {
    summary.add(outcome.report)
    const { seed, traceHash, events, virtualMs, faults } = outcome.report
    print(
      `seed ${seed} held: ${faults} faults, ${Math.round(virtualMs / 1000)} virtual s, ${events} events, trace ${traceHash.slice(0, 16)}`,
    )
    return
  }
  process.exitCode = 1
  print(failureText(outcome.seed, outcome.message, outcome.trace))
}

async function makeSmall(plan: Plan): Promise<void> {
  const first = await runPlan(plan)
  tell(first)
  if (first.tag === 'held') return
  // Another failure on the way is another trace.
  const kind = first.message.slice(0, 12)
  const small = await minimise(plan, async (each) => {
    const outcome = await runPlan(each)
    return outcome.tag === 'failed' && outcome.message.startsWith(kind)
  })
  const file = new URL(`../seeds/${plan.seed}.json`, import.meta.url)
  writeFileSync(file, `${JSON.stringify({ failure: first.message.split('\n')[0], ...small }, null, 1)}\n`)
  print(`${plan.steps.length} steps became ${small.steps.length}:`)
  tell(await runPlan(small))
}

const seeds = seedsOf(values.seeds ?? values.seed ?? '1')
const plan = values.plan === undefined ? planOf(seeds[0] ?? 1) : (JSON.parse(readFileSync(values.plan, 'utf8')) as Plan)
if (values.minimise) await makeSmall(plan)
else if (values.plan !== undefined) tell(await runPlan(plan))
else if (values.json) for await (const outcome of runHere(seeds)) print(JSON.stringify(outcome))
else {
  const startedAt = performance.now()
  await runInProcesses(seeds, Number(values.jobs), tell)
  const seconds = (performance.now() - startedAt) / 1000
  print(`${summary.line}, in ${seconds.toFixed(1)} s\n\n${summary.matrix.render()}`)
}
