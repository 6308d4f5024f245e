/**
 * The checker by hand.
 *
 *     node verify/model/main.ts                            every model, one line each
 *     node verify/model/main.ts 'svc-edge'                 the models whose name contains this, with their failures
 *     node verify/model/main.ts 'svc-edge' ab1cab0         one schedule, told step by step
 */
import { exploreHashed } from './hashed.ts'
import type { Model } from './model.ts'
import { KERNEL_SUITES } from './models/catalogue.ts'
import { KERNEL } from './models/cores.ts'
import type { Outcome } from './outcome.ts'
import { replay } from './replay.ts'
import { diagram, narrate, report, summarize } from './report.ts'
import { SAMPLES } from './samples/workers.ts'
import { parseSchedule } from './schedule.ts'
import { modelsOf } from './suite.ts'

function print(text: string): void {
  process.stdout.write(`${text}\n`)
}

function printFailures(outcome: Outcome): void {
  for (const failure of outcome.failures.values())
    print(`\n${report(outcome, failure)}\n\n${diagram(outcome, failure)}`)
}

async function allModels(): Promise<Model[]> {
  const cores = await KERNEL.load(KERNEL.directory)
  return [...SAMPLES.map(({ model }) => model), ...KERNEL_SUITES.flatMap((suite) => modelsOf(suite, cores))]
}

const [part, schedule] = process.argv.slice(2)
const chosen = (await allModels()).filter(({ name }) => part === undefined || name.includes(part))
if (chosen.length === 0) throw new Error(`No model's name contains "${part}".`)

if (schedule === undefined) {
  for (const model of chosen) {
    const outcome = exploreHashed(model)
    print(summarize(outcome))
    if (part !== undefined) printFailures(outcome)
  }
} else {
  const [model, another] = chosen
  if (model === undefined || another !== undefined)
    throw new Error(`A schedule belongs to one model; "${part}" names ${chosen.length}.`)
  const outcome = replay(model, schedule)
  if (outcome.failures.size === 0) print(`${narrate(model, parseSchedule(schedule))}\n${model.name}: no fault shows`)
  printFailures(outcome)
}
