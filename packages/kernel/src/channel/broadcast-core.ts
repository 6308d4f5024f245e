/**
 * One ring, many readers, each with its own place.
 *
 *      oldest kept              next
 *          ▼                     ▼
 *     … │ 5 │ 6 │ 7 │ 8 │ 9 │ ·            capacity 5
 *              ▲           ▲
 *          reader A     reader B            a reader at 3 has lagged by 2: told once, moved to 5
 *
 * Publishing never waits. For every reader, received + lagged + unread = published since
 * it subscribed.
 */
import { Waiters } from './waiters.ts'

export type HearResult<T> =
  | { readonly tag: 'value'; readonly value: T }
  | { readonly tag: 'lagged'; readonly missed: number }
  | { readonly tag: 'closed' }

export interface BroadcastCore<T> {
  readonly capacity: number
  readonly slots: (T | undefined)[]
  /** The number of values published so far, which is the place of the next one. */
  published: number
  state: 'open' | 'closed'
  readonly waiters: Waiters<undefined>
  readers: number
}

export interface BroadcastReader {
  /** The place of the next value to read. */
  place: number
}

export function createBroadcast<T>(capacity: number): BroadcastCore<T> {
  if (!Number.isInteger(capacity) || capacity < 1) throw new RangeError('A broadcast keeps at least one value.')
  const slots = new Array<T | undefined>(capacity)
  return { capacity, slots, published: 0, state: 'open', waiters: new Waiters(), readers: 0 }
}

/** Adds a reader of what is published from now on, or of what is kept of everything from a place on. */
export function subscribe<T>(broadcast: BroadcastCore<T>, from = broadcast.published): BroadcastReader {
  broadcast.readers += 1
  return { place: Math.min(from, broadcast.published) }
}

/** Stores the value over the oldest; false once closed. */
export function publish<T>(broadcast: BroadcastCore<T>, value: T): boolean {
  if (broadcast.state === 'closed') return false
  broadcast.slots[broadcast.published % broadcast.capacity] = value
  broadcast.published += 1
  broadcast.waiters.wakeAll(undefined)
  return true
}

/** Returns what this reader receives next; `undefined` means wait. Values published before the close still arrive. */
export function tryHear<T>(broadcast: BroadcastCore<T>, reader: BroadcastReader): HearResult<T> | undefined {
  const oldest = Math.max(0, broadcast.published - broadcast.capacity)
  if (reader.place < oldest) {
    const missed = oldest - reader.place
    reader.place = oldest
    return { tag: 'lagged', missed }
  }
  if (reader.place < broadcast.published) {
    const value = broadcast.slots[reader.place % broadcast.capacity] as T
    reader.place += 1
    return { tag: 'value', value }
  }
  return broadcast.state === 'closed' ? { tag: 'closed' } : undefined
}

export function closeBroadcast<T>(broadcast: BroadcastCore<T>): void {
  broadcast.state = 'closed'
  broadcast.waiters.wakeAll(undefined)
}
