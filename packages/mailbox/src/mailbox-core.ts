/**
 * Messages, who has them, and whose turn it is. Everything here happens in one step; nothing waits.
 *
 *               ┌── its key's turn ──┐            ┌─ the delivery is durable
 *     in line ──┘                    ▼            ▼
 *     message ───────────────────▶ ready ─▶ changing ─▶ leased ─▶ changing ─▶ acknowledged: gone
 *                                    ▲                    │          └─ the write failed: leased as before
 *                                    └── nack, expiry ────┤
 *     dead ── replay: at the end of its key's line        └── the last delivery: dead, and the next of its key is ready
 *
 * Never true here:
 *   – two consumers hold a receipt that is good for one message;
 *   – two messages of one key are out at once, or the later one is while the earlier is neither acknowledged nor dead;
 *   – a message is delivered more often than its attempts say.
 */
import type { MailboxChange, Message } from './change.ts'

export interface MessageLease {
  readonly attempt: number
  readonly nonce: string
  /** On the monotonic clock. */
  readonly until: number
}

export type MailboxEntryState =
  | { readonly tag: 'in-line' }
  | { readonly tag: 'ready' }
  /** A record about it is on its way to the drive; `lease` is what an acknowledgement that fails goes back to. */
  | { readonly tag: 'changing'; readonly lease: MessageLease | undefined }
  | { readonly tag: 'leased'; readonly lease: MessageLease }
  | { readonly tag: 'dead' }

export interface MailboxEntry {
  readonly message: Message
  /** Its turn: the place of its record in the log. */
  place: number
  attempts: number
  state: MailboxEntryState
  /** The segment its newest whole record lies in. */
  segment: number
}

interface Topic {
  /** Once all of the log is known, by place. */
  readonly entries: Map<string, MailboxEntry>
  readonly ready: MailboxEntry[]
  /** By key, the first one is the one whose turn it is. */
  readonly lines: Map<string, MailboxEntry[]>
}

export interface MailboxCore {
  readonly maxDeliveries: number
  readonly topics: Map<string, Topic>
  readonly byId: Map<string, MailboxEntry>
  /** In the order they end: every lease is as long as the other. */
  readonly leases: Set<MailboxEntry>
  dead: number
  /** False while the log is read: turns are settled once all of it is known. */
  isOpen: boolean
}

export interface Receipt {
  readonly id: string
  readonly attempt: number
  readonly nonce: string
}

export function createMailbox(maxDeliveries: number): MailboxCore {
  return { maxDeliveries, topics: new Map(), byId: new Map(), leases: new Set(), dead: 0, isOpen: false }
}

/** All of the log is known: every message gets its turn, and no lease of an earlier life is left. */
export function open(core: MailboxCore): void {
  core.isOpen = true
  for (const entry of [...core.byId.values()].sort((a, b) => a.place - b.place)) joinLast(core, entry)
}

/** Something is durable. `place` is where in the log, `segment` in which file. */
export function apply(core: MailboxCore, change: MailboxChange, place: number, segment: number): void {
  switch (change.tag) {
    case 'message':
      // A second one with this id is the first one.
      if (!core.byId.has(change.message.id)) add(core, { message: change.message, place, attempts: 0, segment })
      return
    case 'carry': {
      const { message, attempts } = change
      const entry = core.byId.get(message.id)
      if (entry === undefined) add(core, { message, place: change.place, attempts, segment })
      else Object.assign(entry, { segment, attempts, place: change.place })
      return
    }
    case 'delivery': {
      const entry = core.byId.get(change.id)
      if (entry !== undefined) entry.attempts = change.attempt
      return
    }
    case 'ack':
      remove(core, change.id)
      return
    case 'replay':
      revive(core, change.id, place)
  }
}

function add(core: MailboxCore, facts: Omit<MailboxEntry, 'state'>): void {
  const entry: MailboxEntry = { ...facts, state: { tag: 'in-line' } }
  core.byId.set(entry.message.id, entry)
  topicOf(core, entry).entries.set(entry.message.id, entry)
  if (core.isOpen) join(core, entry)
}

function topicOf(core: MailboxCore, { message }: Pick<MailboxEntry, 'message'>): Topic {
  let topic = core.topics.get(message.topic)
  if (topic === undefined) {
    topic = { entries: new Map(), ready: [], lines: new Map() }
    core.topics.set(message.topic, topic)
  }
  return topic
}

/** No other has a higher place. */
function joinLast(core: MailboxCore, entry: MailboxEntry): void {
  const { entries } = topicOf(core, entry)
  entries.delete(entry.message.id)
  entries.set(entry.message.id, entry)
  join(core, entry)
}

/** It is new here, or back: it goes to the end of its key's line. */
function join(core: MailboxCore, entry: MailboxEntry): void {
  if (entry.attempts >= core.maxDeliveries) {
    entry.state = { tag: 'dead' }
    core.dead += 1
    return
  }
  const { key } = entry.message
  if (key === undefined) {
    makeReady(core, entry)
    return
  }
  const { lines } = topicOf(core, entry)
  const line = lines.get(key)
  if (line !== undefined) {
    entry.state = { tag: 'in-line' }
    line.push(entry)
    return
  }
  lines.set(key, [entry])
  makeReady(core, entry)
}

function makeReady(core: MailboxCore, entry: MailboxEntry): void {
  entry.state = { tag: 'ready' }
  push(topicOf(core, entry).ready, entry)
}

/** The first of its key is done: the next is ready. */
function leaveLine(core: MailboxCore, entry: MailboxEntry): void {
  const { key } = entry.message
  if (key === undefined) return
  const { lines } = topicOf(core, entry)
  const line = lines.get(key)
  if (line?.[0] !== entry) return
  line.shift()
  const next = line.at(0)
  if (next === undefined) lines.delete(key)
  else makeReady(core, next)
}

function remove(core: MailboxCore, id: string): void {
  const entry = core.byId.get(id)
  if (entry === undefined) return
  core.byId.delete(id)
  core.leases.delete(entry)
  const topic = topicOf(core, entry)
  topic.entries.delete(id)
  if (core.isOpen) leaveLine(core, entry)
  if (topic.entries.size === 0) core.topics.delete(entry.message.topic)
}

function revive(core: MailboxCore, id: string, place: number): void {
  const entry = core.byId.get(id)
  if (entry === undefined) return
  entry.attempts = 0
  entry.place = place
  if (!core.isOpen) return
  core.dead -= 1
  joinLast(core, entry)
}

/** The message whose turn it is; it is the caller's until `lease` or `release`. */
export function take(core: MailboxCore, topicName: string): MailboxEntry | undefined {
  const topic = core.topics.get(topicName)
  const entry = topic === undefined ? undefined : pop(topic.ready)
  if (entry !== undefined) entry.state = { tag: 'changing', lease: undefined }
  return entry
}

/** Leases the message, once its delivery is durable: the consumer with the receipt has it. */
export function lease(core: MailboxCore, entry: MailboxEntry, given: MessageLease): void {
  entry.state = { tag: 'leased', lease: given }
  core.leases.add(entry)
}

/** Ends the lease: the message is ready again, or it has had its last delivery. */
export function release(core: MailboxCore, entry: MailboxEntry): void {
  core.leases.delete(entry)
  if (entry.attempts < core.maxDeliveries) {
    makeReady(core, entry)
    return
  }
  entry.state = { tag: 'dead' }
  core.dead += 1
  leaveLine(core, entry)
}

/** The message this receipt is good for. */
export function held(core: MailboxCore, topic: string, receipt: Receipt, now: number): MailboxEntry | undefined {
  const entry = core.byId.get(receipt.id)
  if (entry?.message.topic !== topic || entry.state.tag !== 'leased') return undefined
  const { attempt, nonce, until } = entry.state.lease
  return attempt === receipt.attempt && nonce === receipt.nonce && now < until ? entry : undefined
}

/** An acknowledgement or a replay is on its way to the drive. */
export function change(entry: MailboxEntry): MessageLease | undefined {
  const given = entry.state.tag === 'leased' ? entry.state.lease : undefined
  entry.state = { tag: 'changing', lease: given }
  return given
}

/** Takes back every lease whose time is over; returns how many. */
export function expire(core: MailboxCore, now: number): number {
  let expired = 0
  for (const entry of core.leases) {
    if (entry.state.tag === 'changing') continue
    if (entry.state.tag === 'leased' && entry.state.lease.until > now) break
    release(core, entry)
    expired += 1
  }
  return expired
}

/** When the next lease ends. */
export function nextExpiry(core: MailboxCore): number | undefined {
  for (const { state } of core.leases) if (state.tag === 'leased') return state.lease.until
  return undefined
}

/** What can be delivered now, the longest here first: a binary heap by place. */
export interface HasPlace {
  readonly place: number
}

function push<T extends HasPlace>(heap: T[], item: T): void {
  heap.push(item)
  let at = heap.length - 1
  while (at > 0) {
    const parent = (at - 1) >> 1
    if (placeAt(heap, parent) <= placeAt(heap, at)) return
    swap(heap, at, parent)
    at = parent
  }
}

function pop<T extends HasPlace>(heap: T[]): T | undefined {
  const [first] = heap
  const last = heap.pop()
  if (first === undefined || last === undefined || heap.length === 0) return first
  heap[0] = last
  for (let at = 0; ; ) {
    const left = 2 * at + 1
    const least = placeAt(heap, left) <= placeAt(heap, left + 1) ? left : left + 1
    if (placeAt(heap, at) <= placeAt(heap, least)) return first
    swap(heap, at, least)
    at = least
  }
}

/** Past the end nothing is smaller. */
function placeAt(heap: readonly HasPlace[], index: number): number {
  return heap[index]?.place ?? Number.POSITIVE_INFINITY
}

function swap(heap: HasPlace[], a: number, b: number): void {
  const [left, right] = [heap[a], heap[b]]
  if (left === undefined || right === undefined) return
  heap[a] = right
  heap[b] = left
}
