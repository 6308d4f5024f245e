import { Watch, type Watching } from '../channel/watch.ts'
import { CairnError } from '../errors.ts'
import * as core from './shutdown-core.ts'

/** `shutdown-core.ts` as a watch and two signals, which every task of a service is given. */
export class Shutdown {
  readonly #core = core.createShutdown()
  readonly #phase = new Watch<core.Phase>('running')
  readonly #closedToWork = new Watch(false)
  /** How to tell whether a task has work in hand, for those that said so; the others always have. */
  readonly #isBusy = new Map<string, () => boolean>()
  readonly #draining = new AbortController()
  readonly #abort = new AbortController()

  /** Where things stand, level-triggered. */
  get phase(): Watching<core.Phase> {
    return this.#phase
  }

  /** Take no new work, finish what is queued. */
  get draining(): AbortSignal {
    return this.#draining.signal
  }

  /** Stop now. */
  get aborting(): AbortSignal {
    return this.#abort.signal
  }

  /** True from the moment on when nothing new is accepted, level-triggered. */
  get closedToWork(): Watching<boolean> {
    return this.#closedToWork
  }

  /** Whether new work is taken; `dependent` is a service in front, in the same process. */
  takesWork(from: 'outside' | 'dependent'): boolean {
    return core.takesWork(this.#core, from)
  }

  /** A service in front drains too and is served until `dependentDone`. To be said before `drain`. */
  dependentStarted(name: string): void {
    core.dependentStarted(this.#core, name)
  }

  dependentDone(name: string): void {
    core.dependentDone(this.#core, name)
    this.#announce()
  }

  get tasks(): ReadonlySet<string> {
    return this.#core.tasks
  }

  get aborted(): readonly string[] {
    return this.#core.aborted
  }

  get abandoned(): readonly string[] {
    return this.#core.abandoned
  }

  /** Takes a task in; refuses once the service drains. */
  taskStarted(task: string): boolean {
    return core.taskStarted(this.#core, task)
  }

  /** From now on the task counts as aborted only if it has work in hand at that moment. */
  busyWhen(task: string, isBusy: () => boolean): void {
    this.#isBusy.set(task, isBusy)
  }

  taskEnded(task: string): void {
    this.#isBusy.delete(task)
    core.taskEnded(this.#core, task)
    this.#announce()
  }

  drain(): void {
    core.drain(this.#core)
    this.#announce()
  }

  abort(): void {
    core.abort(this.#core, (task) => this.#isBusy.get(task)?.() ?? true)
    this.#announce()
  }

  abandon(): void {
    core.abandon(this.#core)
    this.#announce()
  }

  /** The watches first, so that a waiter woken by a signal already reads the new phase. */
  #announce(): void {
    const { phase } = this.#core
    if (phase !== this.#phase.value) this.#phase.set(phase)
    if (!this.#closedToWork.value && core.isClosedToWork(this.#core)) this.#closedToWork.set(true)
    if (phase === 'running') return
    this.#draining.abort(new CairnError('Canceled', 'The service is shutting down.', { code: 'draining' }))
    if (phase === 'aborting') this.#abort.abort(new CairnError('Canceled', 'The service stopped before this was done.'))
  }
}
