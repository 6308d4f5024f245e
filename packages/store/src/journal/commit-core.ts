/**
 * Group commit: which entries are written together, which are synced together, and what their callers learn.
 *
 *     submit ─▶ [ queue ] ─ write ─▶ [ writing ] ─ wrote ─▶ [ unsynced ] ─ sync ─▶ [ syncing ] ─ synced ─▶ durable
 *                   │                 one group                                     one epoch
 *                   │                     │                      │                      │
 *                   └─────────────────────┴──────── fail ────────┴──────────────────────┴─▶ failed, every one of them
 *
 * At most one write and one sync are in flight, and they overlap: a sync covers what had been written when it began, its
 * epoch, and the next group is written meanwhile. A segment is left only when neither is in flight.
 *
 * After an error nothing is started. What is in flight ends first: a sync that still ends well has made its epoch durable.
 * Then everything else fails, and nothing is taken until `reopen`: what a failed file holds beyond its last good sync is
 * unknown, so no entry in the queue behind it may go on as if it were there.
 *
 * Callers learn their outcome in the order of the queue. A full disk refuses a group only when all before it is durable: a
 * put that is refused may stand behind the removal of the same id, which is still to come into force.
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
  /** `failing`: an operation failed while another may be in flight still. `broken`: everything failed, a new segment is needed. */
  state: { readonly tag: 'ready' } | { readonly tag: 'failing' | 'broken'; readonly error: CairnError }
  readonly queue: CommitEntry<Item>[]
  queuedBytes: number
  /** In flight to the file. */
  writing: readonly CommitEntry<Item>[]
  /** In the file, and not in the epoch of a sync. */
  unsynced: CommitEntry<Item>[]
  unsyncedBytes: number
  /** The epoch of the sync in flight. */
  syncing: readonly CommitEntry<Item>[]
  /** A new segment is being made. */
  isRolling: boolean
  /** The disk has no room for the group that was to be written. */
  isFull: boolean
}

export type CommitStep<Item> =
  | { readonly tag: 'idle' }
  /** Syncs all that has been written. */
  | { readonly tag: 'sync' }
  /** The segment has no room for the first in the queue, and nothing in it is in flight. */
  | { readonly tag: 'roll' }
  /** The disk has no room, and all that came before is durable. */
  | { readonly tag: 'refuse' }
  | { readonly tag: 'write'; readonly group: readonly CommitEntry<Item>[]; readonly bytes: number }

export interface NewCommitEntry<Item> {
  readonly item: Item
  readonly bytes: number
  readonly freesSpace: boolean
  readonly wantsSync: boolean
}

export function createCommit<Item>(limits: CommitLimits): CommitCore<Item> {
  return {
    limits,
    state: { tag: 'ready' },
    queue: [],
    queuedBytes: 0,
    writing: [],
    unsynced: [],
    unsyncedBytes: 0,
    syncing: [],
    isRolling: false,
    isFull: false,
  }
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

/**
 * What is started next, with `room` bytes left in the segment; it is in flight from this call on. To be asked again until
 * it is `idle`, and whenever something was submitted or ended.
 */
export function nextStep<Item>(core: CommitCore<Item>, room: number): CommitStep<Item> {
  if (core.state.tag !== 'ready' || core.isRolling) return { tag: 'idle' }
  if (core.syncing.length === 0 && core.unsynced.length > 0 && isPressing(core, room)) {
    core.syncing = core.unsynced
    core.unsynced = []
    core.unsyncedBytes = 0
    return { tag: 'sync' }
  }
  if (core.isFull) return core.unsynced.length + core.syncing.length > 0 ? { tag: 'idle' } : { tag: 'refuse' }
  const first = core.queue[0]
  if (first === undefined || core.writing.length > 0) return { tag: 'idle' }
  if (core.unsyncedBytes >= core.limits.unsyncedBytesMax) return { tag: 'idle' }
  if (first.bytes <= room) return take(core, room)
  if (core.unsynced.length > 0 || core.syncing.length > 0) return { tag: 'idle' }
  core.isRolling = true
  return { tag: 'roll' }
}

/** A caller waits, too much lies unsynced, or what comes next must wait until all of it is durable: a refusal, a new segment. */
function isPressing<Item>(core: CommitCore<Item>, room: number): boolean {
  if (core.isFull) return true
  if (core.unsyncedBytes >= core.limits.unsyncedBytesMax || core.unsynced.some((each) => each.wantsSync)) return true
  const first = core.queue[0]
  return first !== undefined && first.bytes > room && core.writing.length === 0
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

/** The epoch of the sync is durable; returns it in order. Waiters are woken by `announce`, once the index knows. */
export function synced<Item>(core: CommitCore<Item>): readonly CommitEntry<Item>[] {
  const durable = core.syncing
  core.syncing = []
  for (const entry of durable) entry.state = { tag: 'durable' }
  return durable
}

/** The segment was left for a new one. */
export function rolled<Item>(core: CommitCore<Item>): void {
  core.isRolling = false
}

/** Wakes the callers that wait for these entries. */
export function announce<Item>(entries: readonly CommitEntry<Item>[]): void {
  for (const entry of entries) {
    entry.untilWritten.wakeAll(undefined)
    entry.untilDurable.wakeAll(undefined)
  }
}

/** The operation in flight failed; the other one, if there is one, is waited for before anything is settled. */
export function broke<Item>(core: CommitCore<Item>, operation: 'write' | 'sync' | 'roll', error: CairnError): void {
  if (core.state.tag === 'ready') core.state = { tag: 'failing', error }
  if (operation === 'roll') core.isRolling = false
  if (operation === 'write') {
    core.unsynced.push(...core.writing)
    core.writing = []
  }
  if (operation === 'sync') {
    core.unsynced.unshift(...core.syncing)
    core.syncing = []
  }
}

/**
 * Fails everything that is not durable, once nothing is in flight; returns it in the order it came. `undefined` if there
 * was no error, or something is in flight. Nothing is taken before `reopen`.
 */
export function fail<Item>(core: CommitCore<Item>): readonly CommitEntry<Item>[] | undefined {
  if (core.state.tag !== 'failing' || core.writing.length > 0 || core.syncing.length > 0) return undefined
  const { error } = core.state
  core.state = { tag: 'broken', error }
  const failed = [...core.unsynced, ...core.queue]
  core.unsynced = []
  core.unsyncedBytes = 0
  core.queue.length = 0
  core.queuedBytes = 0
  core.isFull = false
  for (const entry of failed) entry.state = { tag: 'failed', error }
  return failed
}

/** There is no room but the reserve for the group that was taken: it goes back into the queue, to be refused in its turn. */
export function lacksRoom<Item>(core: CommitCore<Item>): void {
  core.isFull = true
  core.queue.unshift(...core.writing)
  for (const entry of core.writing) {
    entry.state = { tag: 'queued' }
    core.queuedBytes += entry.bytes
  }
  core.writing = []
}

/** Everything queued that needs more than the reserve fails, so that none goes on without the other; returns it. */
export function refuse<Item>(core: CommitCore<Item>, error: CairnError): CommitEntry<Item>[] {
  const refused = core.queue.filter((entry) => !entry.freesSpace)
  const kept = core.queue.filter((entry) => entry.freesSpace)
  core.isFull = false
  core.queue.splice(0, core.queue.length, ...kept)
  core.queuedBytes = kept.reduce((sum, { bytes }) => sum + bytes, 0)
  for (const entry of refused) entry.state = { tag: 'failed', error }
  return refused
}

/** A new segment has proved itself. */
export function reopen<Item>(core: CommitCore<Item>): void {
  core.state = { tag: 'ready' }
}
