import type { Model } from './model.ts'
import { formatSchedule, type Schedule } from './schedule.ts'
import type { Choice, Fault } from './world.ts'

export type Strategy = 'hashed' | 'depth-first' | 'pct' | 'replay'

/** One fault and how to get there. */
export interface Failure {
  readonly fault: Fault
  readonly schedule: Schedule
  /** How many states (hashed) or schedules (the others) show this fault. */
  count: number
}

export interface Outcome {
  readonly model: Model
  readonly strategy: Strategy
  /** Distinct states; only the hashed strategy counts them. */
  states: number
  /** Moves between states (hashed), or complete executions (the others). */
  runs: number
  /** Fingerprints of the terminal states met. */
  readonly terminals: Set<string>
  /** For each fault its first, and under the hashed strategy its shortest, failure. */
  readonly failures: Map<string, Failure>
  ms: number
}

export function beginOutcome(model: Model, strategy: Strategy): Outcome {
  return { model, strategy, states: 0, runs: 0, terminals: new Set(), failures: new Map(), ms: -performance.now() }
}

export function endOutcome(outcome: Outcome): Outcome {
  outcome.ms += performance.now()
  return outcome
}

export function recordFault(
  outcome: Outcome,
  fault: Fault,
  choices: readonly Choice[],
  loop: readonly Choice[] = [],
): void {
  const known = outcome.failures.get(fault.name)
  if (known === undefined) outcome.failures.set(fault.name, { fault, schedule: { choices, loop }, count: 1 })
  else known.count += 1
}

/** The names of the faults found, sorted. */
export function faultNames(outcome: Outcome): string[] {
  return [...outcome.failures.keys()].sort()
}

/** The schedule of a failure as a string that `replay` takes. */
export function scheduleOf(outcome: Outcome, failure: Failure): string {
  return formatSchedule(outcome.model, failure.schedule)
}

/** The fault of a run that never gets to its goal. */
export function missedGoal(goal: string): Fault {
  return { name: goal, detail: 'a fair run never gets there' }
}
