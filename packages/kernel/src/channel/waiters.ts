/**
 * The one place where waiting is implemented.
 *
 *     head ⇄ waiter ⇄ waiter ⇄ waiter ⇄ tail      first in, first woken
 *
 * A waiter ends once: it is woken with an outcome, or removed when its task stops waiting. The two are
 * decided synchronously by whether the waiter is still linked, so an abandoned waiter can never eat
 * an item, and an item once handed over cannot be taken back by a later abort.
 */
import { CairnError } from '../errors.ts'

export interface Waiter<Outcome> {
  readonly wake: (outcome: Outcome) => void
  list: Waiters<Outcome> | undefined
  previous: Waiter<Outcome> | undefined
  next: Waiter<Outcome> | undefined
}

/** As much of an AbortSignal as a wait needs. */
export type WaitSignal = Pick<AbortSignal, 'addEventListener' | 'removeEventListener'>

/** What a waiter is called with at its end, synchronously. `aborted` runs after it has left the line. */
export interface WaitEnds<Outcome> {
  readonly woken: (outcome: Outcome) => void
  readonly aborted: () => void
}

export class Waiters<Outcome> {
  #first: Waiter<Outcome> | undefined
  #last: Waiter<Outcome> | undefined
  #size = 0

  get size(): number {
    return this.#size
  }

  /** Puts a new waiter at the end of the line. `wake` runs at most once, synchronously. */
  add(wake: (outcome: Outcome) => void): Waiter<Outcome> {
    const waiter: Waiter<Outcome> = { wake, list: this, previous: this.#last, next: undefined }
    if (this.#last === undefined) this.#first = waiter
    else this.#last.next = waiter
    this.#last = waiter
    this.#size += 1
    return waiter
  }

  /** Puts a new waiter at the end of the line until it is woken or `signal` fires: exactly one of the two is called, once. */
  enter(signal: WaitSignal, { woken, aborted }: WaitEnds<Outcome>): Waiter<Outcome> {
    const onAbort = (): void => {
      if (this.remove(waiter)) aborted()
    }
    const waiter = this.add((outcome) => {
      signal.removeEventListener('abort', onAbort)
      woken(outcome)
    })
    signal.addEventListener('abort', onAbort, { once: true })
    return waiter
  }

  /** Takes the waiter out of the line; false when it was already woken or removed. */
  remove(waiter: Waiter<Outcome>): boolean {
    if (waiter.list !== this) return false
    if (waiter.previous === undefined) this.#first = waiter.next
    else waiter.previous.next = waiter.next
    if (waiter.next === undefined) this.#last = waiter.previous
    else waiter.next.previous = waiter.previous
    waiter.list = undefined
    waiter.previous = undefined
    waiter.next = undefined
    this.#size -= 1
    return true
  }

  /** The waiter next in line, without waking it. */
  peek(): Waiter<Outcome> | undefined {
    return this.#first
  }

  /** Wakes the first in line with `outcome`; false when the line is empty. */
  wakeFirst(outcome: Outcome): boolean {
    const waiter = this.#first
    if (waiter === undefined) return false
    this.remove(waiter)
    waiter.wake(outcome)
    return true
  }

  /** Wakes every waiter there is now; one that a wake adds is not woken. */
  wakeAll(outcome: Outcome): void {
    for (let left = this.#size; left > 0; left -= 1) this.wakeFirst(outcome)
  }

  /** The line, first to last; for fingerprints and tests. */
  *[Symbol.iterator](): Iterator<Waiter<Outcome>> {
    for (let waiter = this.#first; waiter !== undefined; waiter = waiter.next) yield waiter
  }
}

/** What a wait that `signal` ended throws: the signal's own reason when it is one of our errors. */
export function canceled(signal: AbortSignal): CairnError {
  const reason: unknown = signal.reason
  if (reason instanceof CairnError) return reason
  return new CairnError('Canceled', 'The wait was canceled.', { cause: reason })
}

/** Throws `canceled(signal)` if the signal has fired. */
export function throwIfCanceled(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw canceled(signal)
}

export interface WaitOptions {
  /** Ends the wait with `Canceled` (or the signal's own CairnError); its listener never outlives the wait. */
  readonly signal?: AbortSignal | undefined
}

/** Waits in line until woken. Of wake and abort exactly one wins; the loser leaves nothing behind. */
export async function waitIn<Outcome>(line: Waiters<Outcome>, { signal }: WaitOptions = {}): Promise<Outcome> {
  throwIfCanceled(signal)
  return await new Promise<Outcome>((resolve, reject) => {
    if (signal === undefined) line.add(resolve)
    else line.enter(signal, { woken: resolve, aborted: () => reject(canceled(signal)) })
  })
}
