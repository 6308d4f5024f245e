import { Watch, type Watching } from '../channel/watch.ts'
import { CairnError } from '../errors.ts'
import * as core from './shutdown-core.ts'

/** `shutdown-core.ts` as a watch and two signals, which every task of a service is given. */
export class Shutdown {
  readonly #core = core.createShutdown()
  readonly #phase = new Watch<core.Phase>('running')
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

  taskEnded(task: string): void {
    core.taskEnded(this.#core, task)
    this.#announce()
  }

  drain(): void {
    core.drain(this.#core)
    this.#announce()
  }

  abort(): void {
    core.abort(this.#core)
    this.#announce()
  }

  abandon(): void {
    core.abandon(this.#core)
    this.#announce()
  }

  /** The watch first, so that whoever a signal wakes already reads the new phase. */
  #announce(): void {
    const { phase } = this.#core
    if (phase !== this.#phase.value) this.#phase.set(phase)
    if (phase === 'running') return
    this.#draining.abort(new CairnError('Canceled', 'The service is shutting down.', { code: 'draining' }))
    if (phase === 'aborting') this.#abort.abort(new CairnError('Canceled', 'The service stopped before this was done.'))
  }
}
