/**
 * What a model is, and the words it is written in.
 *
 * A model is a handful of tasks over the production cores. A task is a generator: the code between two
 * `yield`s runs without interruption, exactly like JavaScript between two awaits, and each `yield` is a
 * choice point where the checker decides who goes next.
 *
 *     *worker() {
 *       for (;;) {
 *         yield wait('takes a job', () => queue.depth > 0)       // enabled only while the guard holds
 *         const job = queue.take()                               // runs when this task is chosen
 *         const how = yield choose('handles it', ['well', 'badly'], { job })
 *         ended.push(`${job} ${how}`)
 *       }
 *     }
 *
 * A yield names what the task does *next*, and lists the local variables it still needs: generators
 * cannot be looked into, and a state is only recognised again by what it shows.
 */

/** One way out of a choice point; the task can go this way while `when` holds. */
export interface Branch {
  readonly name: string
  readonly when: () => boolean
}

/** A choice point: the label says what comes next, the locals what the task remembers. */
export interface Step {
  readonly label: string
  readonly locals: unknown
  readonly branches: readonly Branch[]
}

/** Part of a task. Each `yield` hands out a step and gets back the name of the branch the checker chose. */
export type Steps<Result> = Generator<Step, Result, string>

export type Task = Steps<void>

/** Faults by name; a fault is present when its value is true. */
export type Faults = Readonly<Record<string, boolean>>

export interface Setup {
  /** Everything beside the tasks' locals that decides the future: cores, histories, virtual clock. */
  readonly state: unknown
  /** The code before a task's first `yield` runs during set-up, in this order. */
  readonly tasks: Readonly<Record<string, () => Task>>
  /** Tasks that may be left waiting when all others have ended, such as a clock. */
  readonly daemons?: readonly string[]
  /** Faults that no reachable state may show. */
  readonly never?: () => Faults
  /** Faults that no terminal state (nobody can move) may show. */
  readonly neverAtEnd?: () => Faults
  /** What must be zero in every terminal state: waiters, timers, subscriptions, permits in use. */
  readonly leaks?: () => Readonly<Record<string, number>>
  /** What every fair run reaches, again and again or for good: liveness under weak fairness. */
  readonly eventually?: () => Readonly<Record<string, boolean>>
}

export interface Model {
  readonly name: string
  /** Builds a fresh world. It must be deterministic: the checker calls it once per execution. */
  setup(): Setup
}

const always = (): boolean => true

/** The task can always go on. */
export function step(label: string, locals?: unknown): Step {
  return { label, locals, branches: [{ name: '', when: always }] }
}

/** The task goes on only while `when` holds: an await. */
export function wait(label: string, when: () => boolean, locals?: unknown): Step {
  return { label, locals, branches: [{ name: '', when }] }
}

/** A decision of the outside world: an answer or an error, one value of a random number or another. */
export function choose(label: string, options: readonly string[], locals?: unknown): Step {
  return { label, locals, branches: options.map((name) => ({ name, when: always })) }
}

/** Several awaits at once; any branch that is ready may win, as in an unbiased `select!`. */
export function select(label: string, branches: Readonly<Record<string, () => boolean>>, locals?: unknown): Step {
  return { label, locals, branches: Object.entries(branches).map(([name, when]) => ({ name, when })) }
}
