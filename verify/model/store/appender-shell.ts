/**
 * What the appender adds to its core, step for step, over a drive that remembers.
 *
 *     queue ─▶ write ─▶ sync ─▶ told (one step)
 *              write the next ─┘ overlaps: a sync covers what was in the file when it began
 *                  └───────┴─ badly, once both ended ─▶ all fail ─▶ a new segment
 *
 * The drive is the judge: it holds what was synced, whatever the core believes.
 */
import { CairnError } from '@cairn/kernel'
import type {
  CommitCore,
  CommitEntry,
  CommitLimits,
  CommitStep,
} from '../../../packages/store/src/journal/commit-core.ts'
import { select, type Task } from '../model.ts'
import type { StoreCores } from './cores.ts'

export interface AppenderState<Item, Landed> {
  readonly commit: CommitCore<Item>
  readonly drive: { readonly durable: Landed[]; written: Landed[] }
  /** Bytes left in the segment. */
  room: number
  /** The write in flight. */
  write: Extract<CommitStep<Item>, { readonly tag: 'write' }> | undefined
  /** How many of the written items the sync in flight covers. */
  sync: number | undefined
  isRolling: boolean
  isHealing: boolean
  /** What must never happen: two writes or two syncs at once, or a segment left while one is in flight. */
  overlapFaults: number
  failuresLeft: number
  /** Grows whenever something that was in line fails. */
  losses: number
}

export interface AppenderShell<Item, Landed> {
  readonly state: AppenderState<Item, Landed>
  readonly appender: () => Task
  /** Starts what can be started, in the step in which it is asked. */
  readonly advance: () => void
}

export interface AppenderShape<Item, Landed> {
  readonly limits: CommitLimits
  readonly segmentBytes: number
  /** How often the drive may refuse. */
  readonly failures: number
  /** What is on the drive from before. */
  readonly before: readonly Landed[]
  /** What the drive holds of it. */
  readonly landed: (item: Item) => Landed
  /** The index learns of what became durable. */
  readonly sink: (landed: readonly Landed[]) => void
  /** The outcome of these is known, and their callers are about to learn it. */
  readonly onSettled: (items: readonly Item[]) => void
}

export function createAppenderShell<Item, Landed>(
  { commit }: StoreCores,
  shape: AppenderShape<Item, Landed>,
): AppenderShell<Item, Landed> {
  const state: AppenderState<Item, Landed> = {
    commit: commit.createCommit<Item>(shape.limits),
    drive: { durable: [...shape.before], written: [] },
    room: shape.segmentBytes,
    write: undefined,
    sync: undefined,
    isRolling: false,
    isHealing: false,
    overlapFaults: 0,
    failuresLeft: shape.failures,
    losses: 0,
  }
  const refused = new CairnError('StorageBusy', 'The drive refused.')

  const settle = (entries: readonly CommitEntry<Item>[]): void => {
    if (entries.some((entry) => entry.state.tag === 'failed')) state.losses += 1
    shape.onSettled(entries.map(({ item }) => item))
    commit.announce(entries)
  }

  const isInFlight = (): boolean => state.write !== undefined || state.sync !== undefined || state.isHealing

  const start = (step: Exclude<CommitStep<Item>, { readonly tag: 'idle' }>): void => {
    const isTaken = step.tag === 'write' ? state.write : step.tag === 'sync' ? state.sync : isInFlight() || undefined
    if (isTaken !== undefined || state.isRolling) state.overlapFaults += 1
    if (step.tag === 'write') state.write = step
    else if (step.tag === 'sync') state.sync = state.drive.written.length
    else if (step.tag === 'refuse') settle(commit.refuse(state.commit, refused))
    else state.isRolling = true
  }

  const advance = (): void => {
    while (state.overlapFaults === 0) {
      const step = commit.nextStep(state.commit, state.room)
      if (step.tag === 'idle') break
      start(step)
    }
    const failed = commit.fail(state.commit)
    if (failed === undefined) return
    if (isInFlight()) state.overlapFaults += 1
    state.isHealing = true
    state.drive.written = []
    settle(failed)
  }

  const endWrite = (how: string): void => {
    const step = state.write
    if (step === undefined) return
    state.write = undefined
    if (how !== 'the write ends') state.failuresLeft -= 1
    if (how === 'the disk is full') {
      commit.lacksRoom(state.commit)
    } else if (how === 'the write fails') {
      commit.broke(state.commit, 'write', refused)
    } else {
      state.drive.written.push(...step.group.map(({ item }) => shape.landed(item)))
      state.room -= step.bytes
      commit.wrote(state.commit)
    }
  }

  const endSync = (how: string): void => {
    const { drive, sync: covered = 0 } = state
    state.sync = undefined
    if (how === 'the sync fails') {
      state.failuresLeft -= 1
      commit.broke(state.commit, 'sync', refused)
      return
    }
    drive.durable.push(...drive.written.splice(0, covered))
    const durable = commit.synced(state.commit)
    shape.sink(durable.map(({ item }) => shape.landed(item)))
    settle(durable)
  }

  const newSegment = (): void => {
    state.room = shape.segmentBytes
    if (state.isHealing) commit.reopen(state.commit)
    else commit.rolled(state.commit)
    state.isHealing = false
    state.isRolling = false
  }

  function* appender(): Task {
    const mayFail = (): boolean => state.failuresLeft > 0
    const isFilling = (): boolean => state.write?.group.some((each) => !each.freesSpace) === true
    for (;;) {
      const how = yield select('what is in flight ends', {
        'the write ends': () => state.write !== undefined,
        'the write fails': () => mayFail() && state.write !== undefined,
        'the disk is full': () => mayFail() && isFilling(),
        'the sync ends': () => state.sync !== undefined,
        'the sync fails': () => mayFail() && state.sync !== undefined,
        'a new segment is there': () => state.isHealing || state.isRolling,
      })
      if (how === 'a new segment is there') newSegment()
      else if (how.startsWith('the sync')) endSync(how)
      else endWrite(how)
      advance()
    }
  }

  return { state, appender, advance }
}
