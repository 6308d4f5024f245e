/**
 * One signal out of several reasons to stop, without `AbortSignal.any`.
 *
 *     parent signals ─┐
 *     deadline ───────┼──▶ cancel.signal ──▶ the work
 *     cancel.abort ───┘
 *
 * Against a signal that lives as long as the process, `AbortSignal.any` with a listener keeps about
 * a kilobyte alive for each call. Here every listener and timer is gone once the cancel is disposed.
 */
import type { Timer } from '../clock.ts'
import { type Deadline, timedOut } from './deadline.ts'

export interface CancelOptions {
  readonly signals?: readonly (AbortSignal | undefined)[]
  readonly deadline?: Deadline | undefined
  /** What ran out, for the sentence of the timeout. */
  readonly operation?: string
}

export class Cancel implements Disposable {
  readonly #controller = new AbortController()
  readonly #parents: AbortSignal[] = []
  readonly #onParent = (event: Event): void => {
    this.abort(event.target instanceof AbortSignal ? event.target.reason : undefined)
  }
  #timer: Timer | undefined

  constructor({ signals = [], deadline, operation = 'the request' }: CancelOptions) {
    for (const parent of signals) {
      if (parent === undefined) continue
      if (parent.aborted) {
        this.abort(parent.reason)
        return
      }
      parent.addEventListener('abort', this.#onParent, { once: true })
      this.#parents.push(parent)
    }
    if (deadline === undefined) return
    if (deadline.expired) this.abort(timedOut(operation))
    else this.#timer = deadline.clock.timer(deadline.remaining(), () => this.abort(timedOut(operation)))
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Fires the signal, once, and detaches from parents and timer. */
  abort(reason?: unknown): void {
    this[Symbol.dispose]()
    this.#controller.abort(reason)
  }

  /** Detaches from parents and timer: they no longer fire the signal. */
  [Symbol.dispose](): void {
    this.#timer?.cancel()
    this.#timer = undefined
    for (const parent of this.#parents.splice(0)) parent.removeEventListener('abort', this.#onParent)
  }
}
