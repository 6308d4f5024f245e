import type { Model } from './model.ts'
import { beginOutcome, endOutcome, type Outcome, recordFault } from './outcome.ts'
import { shrinkFailures } from './shrink.ts'
import { type Choice, World } from './world.ts'

interface BranchPoint {
  readonly choices: readonly Choice[]
  taken: number
}

export interface DepthFirstOptions {
  /** A longer schedule means that the model has a loop, which this strategy cannot finish. */
  readonly maxSteps?: number
  readonly maxSchedules?: number
}

/**
 * Runs every schedule from start to end. Nothing is merged, so nothing rests on the fingerprint: at the
 * smallest size this must agree with the hashed strategy on faults and terminal states.
 */
export function exploreDepthFirst(
  model: Model,
  { maxSteps = 200, maxSchedules = 2_000_000 }: DepthFirstOptions = {},
): Outcome {
  const outcome = beginOutcome(model, 'depth-first')
  const path: BranchPoint[] = []
  do {
    outcome.runs += 1
    if (outcome.runs > maxSchedules) throw new Error(`${model.name} has more than ${maxSchedules} schedules.`)
    runToEnd(model, path, outcome, maxSteps)
  } while (nextPath(path))
  shrinkFailures(outcome)
  return endOutcome(outcome)
}

/** Repeats the path, then goes on by the first open choice to the end, and judges each state on the way once. */
function runToEnd(model: Model, path: BranchPoint[], outcome: Outcome, maxSteps: number): void {
  const world = new World(model, path.map(choiceAt))
  for (;;) {
    const choices = world.choices()
    const faults = world.faults(choices.length === 0)
    for (const fault of faults) recordFault(outcome, fault, path.map(choiceAt))
    if (choices.length === 0) outcome.terminals.add(world.fingerprint())
    if (choices.length === 0 || faults.length > 0) return
    if (path.length >= maxSteps) throw new Error(`${model.name} has a schedule of more than ${maxSteps} steps.`)
    const point: BranchPoint = { choices, taken: 0 }
    path.push(point)
    world.take(choiceAt(point))
  }
}

/** Moves to the next leaf: drops the points that are used up, and takes the next choice at the one before. */
function nextPath(path: BranchPoint[]): boolean {
  for (let last = path.at(-1); last !== undefined; last = path.at(-1)) {
    last.taken += 1
    if (last.taken < last.choices.length) return true
    path.pop()
  }
  return false
}

function choiceAt({ choices, taken }: BranchPoint): Choice {
  const choice = choices[taken]
  if (choice === undefined) throw new RangeError('A branch point was taken past its last choice.')
  return choice
}
