import type { Model } from './model.ts'
import type { Outcome } from './outcome.ts'
import { type Choice, World } from './world.ts'

/** Makes every failure of a strategy that does not look for short ones as short as leaving steps out can. */
export function shrinkFailures(outcome: Outcome): void {
  for (const [name, failure] of outcome.failures) {
    const choices = shrink(outcome.model, failure.schedule.choices, name)
    outcome.failures.set(name, { ...failure, schedule: { choices, loop: [] } })
  }
}

/** Leaves out one step after the other for as long as the same fault still shows. */
function shrink(model: Model, schedule: readonly Choice[], fault: string): readonly Choice[] {
  let best = schedule
  for (let at = 0; at < best.length; ) {
    const shorter = runWithout(model, best, at)
    const world = new World(model, shorter)
    const shows = world.faults(world.choices().length === 0).some(({ name }) => name === fault)
    if (shows && shorter.length < best.length) best = shorter
    else at += 1
  }
  return best
}

/**
 * The choices that are still open without the one left out, and then, because most faults show at the
 * end, whatever the first task that can move does, for no longer than the schedule was.
 */
function runWithout(model: Model, schedule: readonly Choice[], omitted: number): Choice[] {
  const world = new World(model)
  const taken: Choice[] = []
  const isOver = (): boolean => taken.length >= schedule.length || world.faults(false).length > 0
  const move = (choice: Choice | undefined): void => {
    if (choice === undefined || !world.isOpen(choice) || isOver()) return
    world.take(choice)
    taken.push(choice)
  }
  for (const [at, choice] of schedule.entries()) if (at !== omitted) move(choice)
  for (let [next] = world.choices(); next !== undefined && !isOver(); [next] = world.choices()) move(next)
  return taken
}
