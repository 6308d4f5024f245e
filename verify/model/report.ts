/**
 * A failure for people: what is wrong, one line per step, the string that replays it, and the same as a
 * mermaid sequence diagram.
 */
import type { Model } from './model.ts'
import { type Failure, type Outcome, scheduleOf } from './outcome.ts'
import type { Schedule } from './schedule.ts'
import { type Choice, World } from './world.ts'

/** One line per exploration: what ran, how much of it there was, and what came out. */
export function summarize(outcome: Outcome): string {
  const { model, strategy, states, runs, failures, ms } = outcome
  const size = strategy === 'hashed' ? `${count(states)} states  ${count(runs)} moves` : `${count(runs)} schedules`
  const found = [...failures.values()].map((failure) => `${failure.fault.name} (${failure.count})`)
  const verdict = found.length === 0 ? 'passes' : found.join(', ')
  return `${model.name.padEnd(46)} ${strategy.padEnd(11)} ${size.padEnd(32)} ${ms.toFixed(0).padStart(5)} ms  ${verdict}`
}

function count(value: number): string {
  return String(value).padStart(7)
}

/** The whole story of one failure. */
export function report(outcome: Outcome, failure: Failure): string {
  const { fault, schedule } = failure
  const { choices, loop } = schedule
  const after = loop.length === 0 ? `after ${choices.length} steps` : `in a loop of ${loop.length} steps`
  return [
    `${outcome.model.name}: ${fault.name} ${after}${fault.detail === '' ? '' : ` (${fault.detail})`}`,
    narrate(outcome.model, schedule),
    `  replay: ${scheduleOf(outcome, failure)}`,
  ].join('\n')
}

/** A schedule in words, one line per step. */
export function narrate(model: Model, schedule: Schedule): string {
  const steps = retell(model, schedule)
  const width = Math.max(...steps.map(({ task }) => task.length))
  const lines = steps.map(({ task, words }, index) => {
    const turn = index === schedule.choices.length ? '  then, for ever:\n' : ''
    return `${turn}${String(index + 1).padStart(4)}  ${task.padEnd(width)}  ${words}`
  })
  return lines.join('\n')
}

interface ToldStep {
  readonly task: string
  readonly words: string
  /** Tasks that could not move before this step and can after it. */
  readonly wakes: readonly string[]
}

function retell(model: Model, schedule: Schedule): ToldStep[] {
  const world = new World(model)
  return [...schedule.choices, ...schedule.loop].map((choice) => {
    const pending = world.pending(choice.task)
    const branch = pending?.branches[choice.branch]?.name ?? ''
    const before = movers(world.choices())
    world.take(choice)
    const woken = [...movers(world.choices())].filter((task) => !before.has(task) && task !== choice.task)
    return {
      task: world.taskNames[choice.task] ?? '',
      words: `${pending?.label}${branch === '' ? '' : `: ${branch}`}`,
      wakes: woken.map((task) => world.taskNames[task] ?? ''),
    }
  })
}

function movers(choices: readonly Choice[]): Set<number> {
  return new Set(choices.map(({ task }) => task))
}

/**
 * The failure as a mermaid sequence diagram. A step is a note over its task, or, where it let another
 * task move that could not, an arrow to that task.
 */
export function diagram(outcome: Outcome, failure: Failure): string {
  const steps = retell(outcome.model, failure.schedule)
  const names = new World(outcome.model).taskNames
  const lines = names.map((name, index) => `  participant ${id(index)} as ${name}`)
  const tell = ({ task, words, wakes }: ToldStep): void => {
    const from = id(names.indexOf(task))
    const text = words.replaceAll(/[;#]/g, ',')
    if (wakes.length === 0) lines.push(`  Note over ${from}: ${text}`)
    for (const woken of wakes) lines.push(`  ${from}->>${id(names.indexOf(woken))}: ${text}`)
  }
  steps.slice(0, failure.schedule.choices.length).forEach(tell)
  if (failure.schedule.loop.length > 0) {
    lines.push('  loop for ever')
    steps.slice(failure.schedule.choices.length).forEach(tell)
    lines.push('  end')
  }
  const span = names.length > 1 ? `${id(0)},${id(names.length - 1)}` : id(0)
  lines.push(`  Note over ${span}: ${failure.fault.name}`)
  return ['sequenceDiagram', '  autonumber', ...lines].join('\n')
}

function id(index: number): string {
  return `T${index}`
}
