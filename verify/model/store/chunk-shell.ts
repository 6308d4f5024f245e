/**
 * What the chunk store and the appender add to their cores, step for step, over a drive that remembers.
 *
 *     put ─▶ presence, lease, line (one step) ─▶ appender: write ─▶ sync ─▶ index, settled, told (one step)
 *                                                     └─────────┴─ badly ─▶ all fail ─▶ a new segment
 *
 * The drive is the judge: it holds what was synced, whatever the cores believe.
 */
import { CairnError } from '@cairn/kernel'
import type { LeaseCore } from '../../../packages/store/src/chunk/lease-core.ts'
import type { Presence } from '../../../packages/store/src/chunk/presence-core.ts'
import type { CommitCore, CommitEntry, CommitStep } from '../../../packages/store/src/journal/commit-core.ts'
import { type Steps, select, type Task } from '../model.ts'
import { type Signal, waitIn } from '../models/shell.ts'
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
  readonly commit: CommitCore<Batch>
  readonly presence: Presence<Write>
  readonly leases: LeaseCore
  readonly drive: { readonly durable: LogRecord[]; written: LogRecord[] }
  isIndexed: boolean
  /** Which record of the chunk the index points to: how many there were before it. */
  chunkVersion: number
  /** Set by whoever reaches the chunk in a round, and by the index on a chunk that is new. */
  isMarked: boolean
  /** How many objects of the uploads are durable and in the index. */
  objects: number
  /** The object that was there before is deleted, durably and in the index. */
  isDeleted: boolean
  step: CommitStep<Batch> | { readonly tag: 'heal' }
  failuresLeft: number
  /** Grows whenever something that was in line fails. */
  losses: number
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

function initialState({ commit, leases }: StoreCores, shape: ChunkShape): ChunkState {
  const openedAt = shape.openedAt ?? -LEASE_TIME
  return {
    now: 0,
    commit: commit.createCommit<Batch>(LIMITS),
    presence: new Map(),
    leases: leases.createLeases(LEASE_TIME, openedAt),
    drive: { durable: shape.isStored ? ['chunk'] : [], written: [] },
    isIndexed: shape.isStored,
    chunkVersion: 0,
    isMarked: true,
    objects: 0,
    isDeleted: false,
    step: { tag: 'idle' },
    failuresLeft: shape.failures,
    losses: 0,
  }
}

export function createChunkShell(cores: StoreCores, shape: ChunkShape): ChunkShell {
  const { commit, presence, leases } = cores
  const state = initialState(cores, shape)

  /** The appender takes its next group in the step in which it is woken, as the running one does. */
  const kick = (): void => {
    if (state.step.tag === 'idle') state.step = commit.nextStep(state.commit, ROOM)
  }
  const settle = (entries: readonly Write[]): void => {
    for (const { item } of entries) item.onSettled()
    commit.announce(entries)
  }
  const refused = (entries: readonly Write[]): void => {
    state.failuresLeft -= 1
    state.losses += 1
    settle(entries)
  }
  const sink = (records: readonly LogRecord[]): void => {
    for (const record of records) {
      if (record === 'object') state.objects += 1
      else if (record === 'deletion') state.isDeleted = true
      else state.isIndexed = record === 'chunk'
      if (record === 'chunk') added(state)
    }
  }

  const work = (how: string): void => {
    const { step, drive } = state
    if (how === 'badly') {
      drive.written = []
      state.step = { tag: 'heal' }
      refused(commit.fail(state.commit, new CairnError('StorageBusy', 'The drive refused.')))
      return
    }
    if (how === 'full' && step.tag === 'write') {
      refused(commit.refuse(state.commit, step.group, new CairnError('StorageBusy', 'The disk is full.')))
    } else if (step.tag === 'write') {
      drive.written.push(...step.group.map(({ item }) => item.record))
      commit.wrote(state.commit)
    } else if (step.tag === 'sync') {
      drive.durable.push(...drive.written)
      drive.written = []
      const durable = commit.synced(state.commit)
      sink(durable.map(({ item }) => item.record))
      settle(durable)
    } else if (step.tag === 'heal') {
      commit.reopen(state.commit)
    }
    state.step = commit.nextStep(state.commit, ROOM)
  }

  function* appender(): Task {
    const isBusy = (): boolean => state.step.tag !== 'idle'
    const mayFail = (): boolean => state.failuresLeft > 0 && isBusy() && state.step.tag !== 'heal'
    const isWrite = (): boolean => state.step.tag === 'write' && !state.step.group.every((each) => each.freesSpace)
    for (;;) {
      const how = yield select('writes, syncs or heals', {
        well: isBusy,
        badly: mayFail,
        full: () => mayFail() && isWrite(),
      })
      work(how)
    }
  }

  const submitRecord: ChunkShell['submitRecord'] = (record, lazy, onSettled) => {
    if (state.commit.state.tag === 'broken') return 'unready'
    const freesSpace = isRemoval(record)
    const entry = { item: { record, onSettled }, bytes: 1, freesSpace, wantsSync: !lazy }
    const write = commit.submit(state.commit, entry)
    if (write === 'full') throw new Error('The line is long enough for everybody.')
    kick()
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
    isOnDrive: () => state.drive.durable.findLast(isOfChunk) === 'chunk',
    isStoredTwice() {
      const log = state.drive.durable.filter(isOfChunk)
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
      kick()
      if (write.state.tag !== 'durable' && write.state.tag !== 'failed') {
        const options = signal === undefined ? {} : { signal }
        const waited = yield* waitIn(write.untilDurable, { label, locals: write, ...options })
        if (waited.tag === 'canceled') return 'canceled'
      }
      return write.state.tag === 'failed' ? 'failed' : 'durable'
    },
    leaks: () => ({
      writes: state.commit.queue.length + state.commit.writing.length,
      'marks of writes under way': state.presence.size,
    }),
  }
}
