/**
 * What the chunk store adds to its cores, step for step, over the appender's.
 *
 *     put ─▶ presence, lease, line (one step) ─▶ appender: write ─▶ sync ─▶ index, settled, told (one step)
 */
import type { LeaseCore } from '../../../packages/store/src/chunk/lease-core.ts'
import type { Presence } from '../../../packages/store/src/chunk/presence-core.ts'
import type { CommitEntry } from '../../../packages/store/src/journal/commit-core.ts'
import type { Steps, Task } from '../model.ts'
import { type Signal, waitIn } from '../models/shell.ts'
import { type AppenderState, createAppenderShell } from './appender-shell.ts'
import type { StoreCores } from './cores.ts'

/** One chunk is enough for every race here; objects are made of it. `deletion` removes the one that was there before. */
export type LogRecord = 'chunk' | 'removal' | 'object' | 'deletion'

export interface Batch {
  readonly record: LogRecord
  readonly onSettled: () => void
}

export type Write = CommitEntry<Batch>

export const CHUNK = 'c'
export const LEASE_TIME = 2
/** Room without end: a segment's end is not what these models are about. */
const ROOM = 1_000
const LIMITS = {
  queueBytesMax: ROOM,
  queueEntriesMax: ROOM,
  groupBytesMax: ROOM,
  groupEntriesMax: ROOM,
  unsyncedBytesMax: ROOM,
}

export interface ChunkShape {
  /** The chunk is there from before. */
  readonly isStored: boolean
  /** How often the drive may refuse. */
  readonly failures: number
  /** When the store was opened: a lease time before the clock's zero unless said, so that leases of an earlier life are over. */
  readonly openedAt?: number
}

export interface ChunkState {
  now: number
  readonly appender: AppenderState<Batch, LogRecord>
  readonly presence: Presence<Write>
  readonly leases: LeaseCore
  isIndexed: boolean
  /** Which record of the chunk the index points to: how many there were before it. */
  chunkVersion: number
  /** Set by whoever reaches the chunk in a round, and by the index on a chunk that is new. */
  isMarked: boolean
  /** How many objects of the uploads are durable and in the index. */
  objects: number
  /** The object that was there before is deleted, durably and in the index. */
  isDeleted: boolean
}

export type Submitted = 'present' | 'unready' | { readonly write: Write; readonly isNew: boolean }

export interface ChunkShell {
  readonly state: ChunkState
  readonly appender: () => Task
  /** The newest durable word about the chunk is that it is there. */
  isOnDrive(): boolean
  isStoredTwice(): boolean
  exists(): boolean
  willExist(): boolean
  submit(upload: string, lazy?: boolean): Submitted
  submitRemoval(): Write | 'unready'
  submitRecord(record: LogRecord, lazy: boolean, onSettled: () => void): Write | 'unready'
  durable(write: Write, options?: { label?: string; signal?: Signal }): Steps<'durable' | 'failed' | 'canceled'>
  leaks(): Record<string, number>
}

function isOfChunk(record: LogRecord): boolean {
  return record === 'chunk' || record === 'removal'
}

/** A record that is new is marked by the index. */
function added(state: ChunkState): void {
  state.chunkVersion += 1
  state.isMarked = true
}

function isRemoval(record: LogRecord): boolean {
  return record === 'removal' || record === 'deletion'
}

export function createChunkShell(cores: StoreCores, shape: ChunkShape): ChunkShell {
  const { commit, presence, leases } = cores
  const sink = (records: readonly LogRecord[]): void => {
    for (const record of records) {
      if (record === 'object') state.objects += 1
      else if (record === 'deletion') state.isDeleted = true
      else state.isIndexed = record === 'chunk'
      if (record === 'chunk') added(state)
    }
  }
  const {
    state: atAppender,
    appender,
    advance,
  } = createAppenderShell<Batch, LogRecord>(cores, {
    limits: LIMITS,
    segmentBytes: ROOM,
    failures: shape.failures,
    before: shape.isStored ? ['chunk'] : [],
    landed: ({ record }) => record,
    sink,
    onSettled: (batches) => {
      for (const { onSettled } of batches) onSettled()
    },
  })
  const state: ChunkState = {
    now: 0,
    appender: atAppender,
    presence: new Map(),
    leases: leases.createLeases(LEASE_TIME, shape.openedAt ?? -LEASE_TIME),
    isIndexed: shape.isStored,
    chunkVersion: 0,
    isMarked: true,
    objects: 0,
    isDeleted: false,
  }

  const submitRecord: ChunkShell['submitRecord'] = (record, lazy, onSettled) => {
    if (state.appender.commit.state.tag !== 'ready') return 'unready'
    const freesSpace = isRemoval(record)
    const entry = { item: { record, onSettled }, bytes: 1, freesSpace, wantsSync: !lazy }
    const write = commit.submit(state.appender.commit, entry)
    if (write === 'full') throw new Error('The line is long enough for everybody.')
    advance()
    return write
  }

  const begin = (tag: 'put' | 'removal', lazy: boolean): Write | 'unready' => {
    const write = submitRecord(tag === 'put' ? 'chunk' : 'removal', lazy, () => {
      if (write !== 'unready') presence.settle(state.presence, CHUNK, write)
    })
    if (write !== 'unready') presence.begin(state.presence, CHUNK, { tag, token: write })
    return write
  }

  return {
    state,
    appender,
    isOnDrive: () => state.appender.drive.durable.findLast(isOfChunk) === 'chunk',
    isStoredTwice() {
      const log = state.appender.drive.durable.filter(isOfChunk)
      return log.some((record, at) => record === 'chunk' && log[at - 1] === 'chunk')
    },
    exists: () => presence.exists(state.presence, CHUNK, state.isIndexed),
    willExist: () => presence.decidePut(state.presence, CHUNK, state.isIndexed).tag !== 'write',
    submit(upload, lazy = false) {
      const decision = presence.decidePut(state.presence, CHUNK, state.isIndexed)
      leases.lease(state.leases, upload, CHUNK, state.now)
      if (decision.tag === 'present') return 'present'
      if (decision.tag === 'join') return { write: decision.token, isNew: false }
      const write = begin('put', lazy)
      return write === 'unready' ? write : { write, isNew: true }
    },
    submitRemoval: () => begin('removal', false),
    submitRecord,
    *durable(write, { label = 'hears of it', signal } = {}) {
      write.wantsSync = true
      advance()
      if (write.state.tag !== 'durable' && write.state.tag !== 'failed') {
        const options = signal === undefined ? {} : { signal }
        const waited = yield* waitIn(write.untilDurable, { label, locals: write, ...options })
        if (waited.tag === 'canceled') return 'canceled'
      }
      return write.state.tag === 'failed' ? 'failed' : 'durable'
    },
    leaks: () => ({
      writes:
        state.appender.commit.queue.length +
        state.appender.commit.writing.length +
        state.appender.commit.syncing.length,
      'marks of writes under way': state.presence.size,
    }),
  }
}
