import { Cancel, type Clock, type Timer, timedOut } from '@cairn/kernel'

/** A signal that fires when nothing has happened for a while, or when its parent does. */
export class Patience implements Disposable {
  readonly #clock: Clock
  readonly #cancel: Cancel
  readonly #ms: number
  readonly #operation: string
  #timer: Timer | undefined

  constructor(clock: Clock, ms: number, operation: string, parent: AbortSignal) {
    this.#clock = clock
    this.#ms = ms
    this.#operation = operation
    this.#cancel = new Cancel({ signals: [parent] })
    this.renew()
  }

  get signal(): AbortSignal {
    return this.#cancel.signal
  }

  /** Something happened: the time begins anew. */
  renew(): void {
    this.#timer?.cancel()
    if (this.signal.aborted) return
    this.#timer = this.#clock.timer(this.#ms, () => this.#cancel.abort(timedOut(this.#operation)))
  }

  [Symbol.dispose](): void {
    this.#timer?.cancel()
    this.#timer = undefined
    this.#cancel[Symbol.dispose]()
  }
}
