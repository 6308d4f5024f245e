import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { type Plan, planOf, type Step } from './plan.ts'
import { failureText, Summary } from './report.ts'
import { runInProcesses, runPlan, type SeedOutcome } from './run-seeds.ts'
import { simulateSeed } from './simulate-seed.ts'
import { WORKLOADS } from './workloads.ts'

/** Enough to see that it runs; continuous integration runs a hundred in a stage of their own: see `.ci/run`. */
const SEEDS = 2
const JOBS = 2
/** Run a second time, in other processes. */
const REPEATED = 1
const KEPT = new URL('../seeds/', import.meta.url)

function seedsFrom(first: number, count: number): number[] {
  return Array.from({ length: count }, (_, at) => first + at)
}

function mustHold(outcome: SeedOutcome): void {
  if (outcome.tag === 'failed') assert.fail(failureText(outcome.seed, outcome.message, outcome.trace))
}

const hashes = new Map<number, string>()

test(`${SEEDS} seeds of three nodes with every service hold`, async (t) => {
  const summary = new Summary()
  await runInProcesses(seedsFrom(1, SEEDS), JOBS, (outcome) => {
    mustHold(outcome)
    if (outcome.tag === 'held') {
      summary.add(outcome.report)
      hashes.set(outcome.report.seed, outcome.report.traceHash)
      const operations = Object.values(outcome.report.tallies).reduce((sum, tally) => sum + tally.operations, 0)
      assert.ok(operations >= 200, `seed ${outcome.report.seed} has ${operations} operations`)
    }
  })
  t.diagnostic(summary.line)
  t.diagnostic(summary.matrix.line)
  assert.equal(hashes.size, SEEDS)
})

test('a seed has the same trace in every process', async () => {
  await runInProcesses(seedsFrom(1, REPEATED), JOBS, (outcome) => {
    mustHold(outcome)
    if (outcome.tag === 'held') assert.equal(outcome.report.traceHash, hashes.get(outcome.report.seed))
  })
})

test('where faults meet nobody the power is cut until there were enough of them', async () => {
  const operations = planOf(1).steps.filter(({ tag }) => tag === 'operate')
  const schedule = seedsFrom(1, 5).flatMap((number): Step[] => [
    { tag: 'begin-fault', fault: { number, kind: 'loss', node: 'ash.node', dice: number } },
    { tag: 'end-fault', fault: number },
  ])
  const { faults, tallies } = await simulateSeed(
    { seed: 1, steps: [...operations.slice(0, 20), ...schedule] },
    WORKLOADS,
  )
  assert.equal(faults, 5)
  const done = Object.values(tallies).reduce((sum, tally) => sum + tally.operations, 0)
  assert.equal(done, 20 + 5 * 8)
})

test('one millisecond on one packet makes another trace', async () => {
  const { steps } = planOf(1)
  const plan: Plan = { seed: 1, steps: steps.filter(({ tag }) => tag === 'operate').slice(0, 30) }
  const [calm, late] = [
    await simulateSeed(plan, WORKLOADS),
    await simulateSeed(plan, WORKLOADS, (world) => {
      world.network.links.tamper = ({ number }) => (number === 500 ? { extraDelayMs: 1 } : undefined)
    }),
  ]
  assert.notEqual(calm.traceHash, late.traceHash)
})

for (const name of readdirSync(KEPT).filter((each) => each.endsWith('.json'))) {
  test(`what once failed holds: ${name}`, async () => {
    mustHold(await runPlan(JSON.parse(readFileSync(new URL(name, KEPT), 'utf8')) as Plan))
  })
}
