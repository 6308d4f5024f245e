/**
 * The decisions of a bounded queue; `queue.ts` adds the promises.
 *
 *                      ┌── urgent ──┐
 *     trySend ────────▶│ □ □        │──────▶ receivers of any lane or of one, first come first served
 *     sent|full|closed ├── normal ──┤        (they wait only while what they take from is empty)
 *                      │ ■ ■ ■ ■    │
 *                      └────────────┘  urgent + normal ≤ capacity,  normal ≤ capacity − reserved
 *
 * Rules:
 *  1. Sending never waits. A full queue refuses the new item, or drops its oldest normal one.
 *  2. First in, first out within a lane; a receiver of both lanes takes urgent items first.
 *  3. `reserved` slots are for urgent items alone; an urgent item is never dropped for another.
 *  4. After `close` nothing enters, and everything inside can still leave.
 *  5. `abort` empties the queue and returns what it discarded, so each item can be answered.
 *  6. sent = received + dropped + discarded + depth, always.
 */
import { Waiters } from './waiters.ts'

export type Lane = 'normal' | 'urgent'
/** What a receiver takes: anything, or the items of one lane. */
export type Take = 'any' | Lane
export type Overflow = 'reject' | 'drop-oldest'
export type SendResult = 'sent' | 'full' | 'closed'
export type ReceiveResult<T> = { readonly tag: 'item'; readonly item: T } | { readonly tag: 'closed' }

export interface QueueShape {
  readonly capacity: number
  readonly overflow: Overflow
  /** Slots only urgent items may use; 0 when absent. */
  readonly reserved?: number
}

/** `open` takes and gives; `closing` only gives, until it is empty; `closed` does neither. */
export type QueueState = { readonly tag: 'open' } | { readonly tag: 'closing' } | { readonly tag: 'closed' }

export interface QueueCore<T> {
  readonly capacity: number
  readonly normalCapacity: number
  readonly overflow: Overflow
  readonly urgent: Ring<T>
  readonly normal: Ring<T>
  readonly receivers: Readonly<Record<Take, Waiters<ReceiveResult<T>>>>
  state: QueueState
  sent: number
  received: number
  dropped: number
  discarded: number
  highWater: number
}

const CLOSED = { tag: 'closed' } as const

export function createQueue<T>(shape: QueueShape): QueueCore<T> {
  const reserved = shape.reserved ?? 0
  if (!Number.isInteger(shape.capacity) || shape.capacity < 1) throw new RangeError('A queue holds at least one item.')
  if (!Number.isInteger(reserved) || reserved < 0 || reserved >= shape.capacity)
    throw new RangeError('A queue reserves at least nothing and less than its capacity.')
  return {
    capacity: shape.capacity,
    normalCapacity: shape.capacity - reserved,
    overflow: shape.overflow,
    urgent: new Ring(reserved === 0 ? 0 : shape.capacity),
    normal: new Ring(shape.capacity - reserved),
    receivers: { any: new Waiters(), normal: new Waiters(), urgent: new Waiters() },
    state: { tag: 'open' },
    sent: 0,
    received: 0,
    dropped: 0,
    discarded: 0,
    highWater: 0,
  }
}

export function depth<T>(queue: QueueCore<T>): number {
  return queue.urgent.length + queue.normal.length
}

/** Hands the item to a waiting receiver, or stores it, or says why not. `dropped` gets what made room. */
export function trySend<T>(queue: QueueCore<T>, item: T, lane: Lane, dropped?: (item: T) => void): SendResult {
  if (queue.state.tag !== 'open') return 'closed'
  const urgent = lane === 'urgent' && queue.normalCapacity < queue.capacity
  const { receivers } = queue
  const received: ReceiveResult<T> = { tag: 'item', item }
  if (receivers[urgent ? 'urgent' : 'normal'].wakeFirst(received) || receivers.any.wakeFirst(received)) {
    queue.sent += 1
    queue.received += 1
    return 'sent'
  }
  if (!hasRoom(queue, urgent)) {
    if (queue.overflow === 'reject' || queue.normal.length === 0) return 'full'
    queue.dropped += 1
    const oldest = queue.normal.shift()
    dropped?.(oldest)
  }
  if (urgent) queue.urgent.push(item)
  else queue.normal.push(item)
  queue.sent += 1
  queue.highWater = Math.max(queue.highWater, depth(queue))
  return 'sent'
}

function hasRoom<T>(queue: QueueCore<T>, urgent: boolean): boolean {
  if (depth(queue) >= queue.capacity) return false
  return urgent || queue.normal.length < queue.normalCapacity
}

/** Takes the next item if there is one, or says that there never will be; `undefined` means wait. */
export function tryReceive<T>(queue: QueueCore<T>, take: Take = 'any'): ReceiveResult<T> | undefined {
  const lane = take === 'any' ? (queue.urgent.length > 0 ? queue.urgent : queue.normal) : queue[take]
  if (lane.length === 0) return queue.state.tag === 'open' ? undefined : CLOSED
  const item = lane.shift()
  queue.received += 1
  if (queue.state.tag === 'closing' && depth(queue) === 0) queue.state = { tag: 'closed' }
  return { tag: 'item', item }
}

/** How many wait for an item. */
export function waiting<T>({ receivers }: QueueCore<T>): number {
  return receivers.any.size + receivers.normal.size + receivers.urgent.size
}

/** Forbids sends. Waiting receivers learn it now; the others once they have drained the rest. */
export function close<T>(queue: QueueCore<T>): void {
  if (queue.state.tag !== 'open') return
  queue.state = depth(queue) === 0 ? { tag: 'closed' } : { tag: 'closing' }
  for (const line of Object.values(queue.receivers)) line.wakeAll(CLOSED)
}

/** Forbids sends and empties the queue; returns the items no receiver will get, for the caller to answer. */
export function abort<T>(queue: QueueCore<T>): T[] {
  const discarded = [...queue.urgent, ...queue.normal]
  while (queue.urgent.length > 0) queue.urgent.shift()
  while (queue.normal.length > 0) queue.normal.shift()
  queue.discarded += discarded.length
  queue.state = { tag: 'closed' }
  for (const line of Object.values(queue.receivers)) line.wakeAll(CLOSED)
  return discarded
}

/** A fixed array used in a circle: O(1) at both ends, no allocation after construction. */
export class Ring<T> {
  readonly #slots: (T | undefined)[]
  #head = 0
  #length = 0

  constructor(capacity: number) {
    this.#slots = new Array<T | undefined>(capacity)
  }

  get length(): number {
    return this.#length
  }

  /** Adds at the end. The caller has checked that there is room. */
  push(item: T): void {
    const end = this.#head + this.#length
    this.#slots[end < this.#slots.length ? end : end - this.#slots.length] = item
    this.#length += 1
  }

  /** Takes from the front. The caller has checked that there is something. */
  shift(): T {
    const item = this.#slots[this.#head] as T
    this.#slots[this.#head] = undefined
    this.#head = this.#head + 1 < this.#slots.length ? this.#head + 1 : 0
    this.#length -= 1
    return item
  }

  *[Symbol.iterator](): Iterator<T> {
    for (let at = 0; at < this.#length; at += 1) yield this.#slots[(this.#head + at) % this.#slots.length] as T
  }
}
