/**
 * Group commit: which entries are written together, and what their callers learn.
 *
 *     submit ─▶ [ queue ] ─ take ─▶ [ writing ] ─ wrote ─▶ [ unsynced ] ─ synced ─▶ durable
 *                   │                    │                      │
 *                   └────────────────────┴── fail ──────────────┴─▶ failed, every one of them
 *
 * One group is under way at a time. After a failure nothing is taken until `reopen`: what a failed file holds beyond
 * its last sync is unknown, so no entry in line behind it may go on as if it were there.
 */
import { type CairnError, Waiters } from '@cairn/kernel'

export type CommitEntryState =
  | { readonly tag: 'queued' }
  | { readonly tag: 'writing' }
  | { readonly tag: 'written' }
  | { readonly tag: 'durable' }
  | { readonly tag: 'failed'; readonly error: CairnError }

export interface CommitEntry<Item> {
  readonly item: Item
  readonly bytes: number
  /** Frees space, so it may use the reserve. */
  readonly freesSpace: boolean
  /** A caller waits for it to be durable. */
  wantsSync: boolean
  state: CommitEntryState
  /** Woken when it is written or failed. */
  readonly untilWritten: Waiters<undefined>
  /** Woken when it is durable or failed. */
  readonly untilDurable: Waiters<undefined>
}

export interface CommitLimits {
  /** What may wait in the queue. */
  readonly queueBytesMax: number
  readonly queueEntriesMax: number
  /** What is written at once. */
  readonly groupBytesMax: number
  readonly groupEntriesMax: number
  /** How much may lie written and unsynced while no caller asks for the sync. */
  readonly unsyncedBytesMax: number
}

export interface CommitCore<Item> {
  readonly limits: CommitLimits
  state: { readonly tag: 'ready' } | { readonly tag: 'broken'; readonly error: CairnError }
  readonly queue: CommitEntry<Item>[]
  queuedBytes: number
  writing: CommitEntry<Item>[]
  unsynced: CommitEntry<Item>[]
  unsyncedBytes: number
}

export type CommitStep<Item> =
  | { readonly tag: 'idle' }
  | { readonly tag: 'sync' }
  /** The segment has no room for the first in line. */
  | { readonly tag: 'roll' }
  | { readonly tag: 'write'; readonly group: readonly CommitEntry<Item>[]; readonly bytes: number }

export interface NewCommitEntry<Item> {
  readonly item: Item
  readonly bytes: number
  readonly freesSpace: boolean
  readonly wantsSync: boolean
}

export function createCommit<Item>(limits: CommitLimits): CommitCore<Item> {
  return { limits, state: { tag: 'ready' }, queue: [], queuedBytes: 0, writing: [], unsynced: [], unsyncedBytes: 0 }
}

/** Puts the entry in line; `full` leaves it with the caller. */
export function submit<Item>(core: CommitCore<Item>, entry: NewCommitEntry<Item>): CommitEntry<Item> | 'full' {
  const { queueBytesMax, queueEntriesMax } = core.limits
  if (core.queue.length >= queueEntriesMax) return 'full'
  if (core.queue.length > 0 && core.queuedBytes + entry.bytes > queueBytesMax) return 'full'
  const added: CommitEntry<Item> = {
    ...entry,
    state: { tag: 'queued' },
    untilWritten: new Waiters(),
    untilDurable: new Waiters(),
  }
  core.queue.push(added)
  core.queuedBytes += entry.bytes
  return added
}

/** What the appender does next, with `room` bytes left in its segment. Takes the group it returns. */
export function nextStep<Item>(core: CommitCore<Item>, room: number): CommitStep<Item> {
  if (core.state.tag === 'broken' || core.writing.length > 0) return { tag: 'idle' }
  const isPressing = core.unsyncedBytes >= core.limits.unsyncedBytesMax || core.unsynced.some((each) => each.wantsSync)
  if (isPressing) return { tag: 'sync' }
  const first = core.queue[0]
  if (first === undefined) return { tag: 'idle' }
  if (first.bytes > room) return core.unsynced.length > 0 ? { tag: 'sync' } : { tag: 'roll' }
  return take(core, room)
}

function take<Item>(core: CommitCore<Item>, room: number): CommitStep<Item> {
  const { groupBytesMax, groupEntriesMax } = core.limits
  let bytes = 0
  let count = 0
  for (const entry of core.queue) {
    const isTooMuch = count > 0 && bytes + entry.bytes > groupBytesMax
    if (count === groupEntriesMax || isTooMuch || bytes + entry.bytes > room) break
    bytes += entry.bytes
    count += 1
  }
  const group = core.queue.splice(0, count)
  core.queuedBytes -= bytes
  for (const entry of group) entry.state = { tag: 'writing' }
  core.writing = group
  return { tag: 'write', group, bytes }
}

/** The group is in the file, not yet durable. */
export function wrote<Item>(core: CommitCore<Item>): void {
  for (const entry of core.writing) {
    entry.state = { tag: 'written' }
    core.unsynced.push(entry)
    core.unsyncedBytes += entry.bytes
  }
  const written = core.writing
  core.writing = []
  for (const entry of written) entry.untilWritten.wakeAll(undefined)
}

/** Everything written is durable; returns it in order. Waiters are woken by `announce`, once the index knows. */
export function synced<Item>(core: CommitCore<Item>): readonly CommitEntry<Item>[] {
  const durable = core.unsynced
  core.unsynced = []
  core.unsyncedBytes = 0
  for (const entry of durable) entry.state = { tag: 'durable' }
  return durable
}

/** Wakes the callers that wait for these entries. */
export function announce<Item>(entries: readonly CommitEntry<Item>[]): void {
  for (const entry of entries) {
    entry.untilWritten.wakeAll(undefined)
    entry.untilDurable.wakeAll(undefined)
  }
}

/** Everything that is not durable fails, in the order it came; returns it. Nothing is taken before `reopen`. */
export function fail<Item>(core: CommitCore<Item>, error: CairnError): readonly CommitEntry<Item>[] {
  core.state = { tag: 'broken', error }
  const failed = [...core.unsynced, ...core.writing, ...core.queue]
  core.unsynced = []
  core.unsyncedBytes = 0
  core.writing = []
  core.queue.length = 0
  core.queuedBytes = 0
  for (const entry of failed) entry.state = { tag: 'failed', error }
  return failed
}

/** There is no room but the reserve: everything queued that needs more of it fails, so that none goes on without the other. */
export function refuse<Item>(
  core: CommitCore<Item>,
  group: readonly CommitEntry<Item>[],
  error: CairnError,
): CommitEntry<Item>[] {
  const line = [...group, ...core.queue]
  const refused = line.filter((entry) => !entry.freesSpace)
  const kept = line.filter((entry) => entry.freesSpace)
  core.writing = []
  core.queue.splice(0, core.queue.length, ...kept)
  core.queuedBytes = kept.reduce((sum, { bytes }) => sum + bytes, 0)
  for (const entry of kept) entry.state = { tag: 'queued' }
  for (const entry of refused) entry.state = { tag: 'failed', error }
  return refused
}

/** A new segment has proved itself. */
export function reopen<Item>(core: CommitCore<Item>): void {
  core.state = { tag: 'ready' }
}
