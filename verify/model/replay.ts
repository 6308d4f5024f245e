import type { Model } from './model.ts'
import { beginOutcome, endOutcome, missedGoal, type Outcome, recordFault } from './outcome.ts'
import { parseSchedule } from './schedule.ts'
import { World } from './world.ts'

/** Runs the one schedule that a report printed, and judges every state on its way and the loop at its end. */
export function replay(model: Model, text: string): Outcome {
  const outcome = beginOutcome(model, 'replay')
  outcome.runs = 1
  const { choices, loop } = parseSchedule(text)
  const world = new World(model)
  for (let at = 0; ; at += 1) {
    const isTerminal = world.choices().length === 0
    for (const fault of world.faults(isTerminal)) recordFault(outcome, fault, choices.slice(0, at))
    if (isTerminal) outcome.terminals.add(world.fingerprint())
    const choice = choices[at]
    if (choice === undefined) break
    world.take(choice)
  }
  const start = world.fingerprint()
  let unmet = world.choices().length === 0 || loop.length > 0 ? world.unmetGoals() : []
  for (const choice of loop) {
    world.take(choice)
    unmet = world.unmetGoals().filter((goal) => unmet.includes(goal))
  }
  if (world.fingerprint() !== start) throw new Error(`The loop of "${text}" does not end where it began.`)
  for (const goal of unmet) recordFault(outcome, missedGoal(goal), choices, loop)
  return endOutcome(outcome)
}
