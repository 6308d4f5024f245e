import { SeededRandom } from '@cairn/kernel/testing'
import type { Model } from './model.ts'
import { beginOutcome, endOutcome, type Outcome, recordFault } from './outcome.ts'
import { shrinkFailures } from './shrink.ts'
import { type Choice, World } from './world.ts'

export interface PctOptions {
  readonly seed: number
  readonly runs?: number
  /** How many ordering constraints a bug may need; one less is the number of priority changes per run. */
  readonly depth?: number
  readonly maxSteps?: number
}

/**
 * Probabilistic concurrency testing, for models too big to exhaust. Each task has a random priority and
 * the highest open one always moves; at a few random points the mover falls to the bottom. A bug that
 * needs `depth` ordering constraints is found with probability at least 1 / (tasks × stepsᵈᵉᵖᵗʰ⁻¹) per run.
 */
export function explorePct(model: Model, { seed, runs = 1000, depth = 3, maxSteps = 1000 }: PctOptions): Outcome {
  const outcome = beginOutcome(model, 'pct')
  const source = new SeededRandom(seed)
  const random = (below: number): number => Math.floor(source.next() * below)
  let length = 1
  for (; outcome.runs < runs; outcome.runs += 1) {
    const changes = new Set(Array.from({ length: depth - 1 }, () => random(length)))
    const schedule = runOnce(model, outcome, { random, changes, maxSteps })
    length = Math.max(length, schedule.length)
  }
  shrinkFailures(outcome)
  return endOutcome(outcome)
}

interface Run {
  readonly random: (below: number) => number
  readonly changes: ReadonlySet<number>
  readonly maxSteps: number
}

function runOnce(model: Model, outcome: Outcome, { random, changes, maxSteps }: Run): Choice[] {
  const world = new World(model)
  const order = shuffle(world.taskNames.length, random)
  const schedule: Choice[] = []
  for (;;) {
    const choices = world.choices()
    const faults = world.faults(choices.length === 0)
    for (const fault of faults) recordFault(outcome, fault, [...schedule])
    if (choices.length === 0) outcome.terminals.add(world.fingerprint())
    if (choices.length === 0 || faults.length > 0 || schedule.length >= maxSteps) return schedule
    const mover = order.find((task) => choices.some((choice) => choice.task === task))
    const open = choices.filter((choice) => choice.task === mover)
    const choice = open[random(open.length)]
    if (mover === undefined || choice === undefined) throw new RangeError('An open choice belongs to no task.')
    if (changes.has(schedule.length)) order.push(...order.splice(order.indexOf(mover), 1))
    schedule.push(choice)
    world.take(choice)
  }
}

/** The numbers 0 … size − 1 in random order, highest priority first. */
function shuffle(size: number, random: (below: number) => number): number[] {
  const order: number[] = []
  for (let task = 0; task < size; task += 1) order.splice(random(task + 1), 0, task)
  return order
}
