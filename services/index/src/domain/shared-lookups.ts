/**
 * One lookup for everybody who asks the same at the same time.
 *
 *     request 1 ─┐
 *     request 2 ─┼─▶ flight ─▶ one lookup ─▶ the same answer, or the same error, for all of them
 *     request 3 ─┘      └─ nobody waits any more: the lookup is aborted
 */
import { Cancel, type Deadline, isKind } from '@cairn/kernel'
import { abortable } from '@cairn/transport'

export interface LookupBounds {
  readonly deadline: Deadline
  /** The caller went away. */
  readonly signal?: AbortSignal | undefined
}

interface SharedLookup<T> {
  readonly key: string
  readonly result: Promise<T>
  readonly cancel: Cancel
  waiting: number
}

export class SharedLookups<T> {
  readonly #open = new Map<string, SharedLookup<T>>()

  get size(): number {
    return this.#open.size
  }

  /** The answer of the flight under way for `key`, or of a new one within the bounds of whoever begins it. */
  async join(key: string, bounds: LookupBounds, start: (bounds: Required<LookupBounds>) => Promise<T>): Promise<T> {
    for (;;) {
      const joined = this.#open.get(key)
      const flight = joined ?? this.#begin(key, bounds.deadline, start)
      try {
        return await this.#wait(flight, bounds.signal)
      } catch (error) {
        // Another caller's time ran out, not ours: ask again with what is left of ours.
        const isTheirs = joined !== undefined && isKind(error, 'Timeout') && bounds.signal?.aborted !== true
        if (!isTheirs || bounds.deadline.expired) throw error
      }
    }
  }

  #begin(key: string, deadline: Deadline, start: (bounds: Required<LookupBounds>) => Promise<T>): SharedLookup<T> {
    const cancel = new Cancel({})
    const result = Promise.try(start, { deadline, signal: cancel.signal })
    const flight = { key, result, cancel, waiting: 0 }
    this.#open.set(key, flight)
    const over = (): void => {
      this.#forget(flight)
    }
    result.then(over, over)
    return flight
  }

  async #wait(flight: SharedLookup<T>, signal: AbortSignal | undefined): Promise<T> {
    flight.waiting += 1
    try {
      return signal === undefined ? await flight.result : await abortable(signal, flight.result)
    } finally {
      flight.waiting -= 1
      // Nobody is left. Whoever comes now begins a new flight instead of joining one that is being aborted.
      if (flight.waiting === 0 && this.#forget(flight)) flight.cancel.abort()
    }
  }

  #forget(flight: SharedLookup<T>): boolean {
    return this.#open.get(flight.key) === flight && this.#open.delete(flight.key)
  }
}
