import { fingerprint } from './fingerprint.ts'
import type { Faults, Model, Setup, Step, Task } from './model.ts'

/** Which task moves, and which of its branches it takes. A list of choices is a schedule. */
export interface Choice {
  readonly task: number
  readonly branch: number
}

export interface Fault {
  /** A short stable name: one that the model declared, or `deadlock`, `leak`, `exception`. */
  readonly name: string
  /** What else there is to say; may be empty. */
  readonly detail: string
}

interface Running {
  readonly name: string
  readonly generator: Task
  /** Where the task stands; `undefined` once it has ended. */
  pending: Step | undefined
}

/**
 * One execution of a model. Generators cannot be copied, so there is no way back: to explore another
 * future, start a new world and take the same choices again.
 */
export class World {
  readonly #setup: Setup
  readonly #tasks: Running[] = []
  #thrown: Fault | undefined

  constructor(model: Model, schedule: readonly Choice[] = []) {
    this.#setup = model.setup()
    for (const [name, start] of Object.entries(this.#setup.tasks)) {
      const task: Running = { name, generator: start(), pending: undefined }
      this.#tasks.push(task)
      this.#advance(task, '')
    }
    for (const choice of schedule) this.take(choice)
  }

  get taskNames(): readonly string[] {
    return this.#tasks.map((task) => task.name)
  }

  /** Where a task stands, or `undefined` if it has ended. */
  pending(task: number): Step | undefined {
    return this.#tasks[task]?.pending
  }

  /** Every choice open now, in a fixed order; none means that the state is terminal. */
  choices(): Choice[] {
    const open: Choice[] = []
    if (this.#thrown !== undefined) return open
    for (const [task, { pending }] of this.#tasks.entries()) {
      for (const [branch, { when }] of pending?.branches.entries() ?? []) {
        if (when()) open.push({ task, branch })
      }
    }
    return open
  }

  isOpen({ task, branch }: Choice): boolean {
    return this.#thrown === undefined && this.#tasks[task]?.pending?.branches[branch]?.when() === true
  }

  /** Lets one task run to its next choice point. */
  take(choice: Choice): void {
    const task = this.#tasks[choice.task]
    const branch = task?.pending?.branches[choice.branch]
    if (task === undefined || branch === undefined || !this.isOpen(choice)) {
      throw new Error(
        `Task ${task?.name ?? choice.task} cannot move here: is the model deterministic, and the schedule its own?`,
      )
    }
    this.#advance(task, branch.name)
  }

  #advance(task: Running, branch: string): void {
    try {
      const next = task.generator.next(branch)
      task.pending = next.done === true ? undefined : next.value
    } catch (error) {
      task.pending = undefined
      this.#thrown = { name: 'exception', detail: `${task.name} threw ${String(error)}` }
    }
  }

  /** What identifies this state: the model's own state and, for each task, where it stands and what it remembers. */
  fingerprint(): string {
    const tasks = this.#tasks.map(({ pending }) => pending && [pending.label, pending.locals])
    return fingerprint([this.#setup.state, tasks, this.#thrown])
  }

  /** Everything wrong with this state, most specific first. `terminal` says that nobody can move. */
  faults(terminal: boolean): Fault[] {
    if (this.#thrown !== undefined) return [this.#thrown]
    const found = present(this.#setup.never?.(), '')
    if (found.length > 0 || !terminal) return found
    const atEnd = present(this.#setup.neverAtEnd?.(), 'no task can move any more')
    if (atEnd.length > 0) return atEnd
    const stuck = this.#tasks.filter(({ name, pending }) => pending !== undefined && !this.#isDaemon(name))
    if (stuck.length > 0) {
      return [
        { name: 'deadlock', detail: stuck.map(({ name, pending }) => `${name} waits: ${pending?.label}`).join('; ') },
      ]
    }
    const left = Object.entries(this.#setup.leaks?.() ?? {}).filter(([, count]) => count !== 0)
    if (left.length === 0) return []
    return [{ name: 'leak', detail: left.map(([what, count]) => `${count} ${what} left`).join(', ') }]
  }

  /** The liveness goals that do not hold in this state. */
  unmetGoals(): string[] {
    const goals = Object.entries(this.#setup.eventually?.() ?? {})
    return goals.filter(([, reached]) => !reached).map(([name]) => name)
  }

  #isDaemon(name: string): boolean {
    return this.#setup.daemons?.includes(name) === true
  }
}

function present(faults: Faults | undefined, detail: string): Fault[] {
  return Object.entries(faults ?? {})
    .filter(([, isPresent]) => isPresent)
    .map(([name]) => ({ name, detail }))
}
