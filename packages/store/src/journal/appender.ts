/**
 * The one writer of a journal: takes what was submitted in groups, writes, syncs, and tells.
 *
 *     submit ─▶ commit-core ─▶ write group ─▶ fdatasync ─▶ sink (the index) ─▶ callers told
 *                              write next ──────┘ overlaps: one write and one sync in flight
 *                                  └───────────┴─ any error ─▶ every caller fails ─▶ a new segment, or none is ready
 */
import { CairnError, sleep, toCairnError, Waiters, type WaitOptions, waitIn } from '@cairn/kernel'
import type { DiskFile } from '@cairn/platform'
import type { DriveDirectory, JournalMachine } from '../drive/drive.ts'
import * as core from './commit-core.ts'
import { FORMAT, PAYLOAD_BYTES_MAX, SEGMENT_HEADER_BYTES, type SegmentHeader } from './format.ts'
import {
  type Draft,
  draftBytes,
  encodeGroup,
  makeSegment,
  type PlacedRecord,
  type Position,
  type Segment,
} from './segment.ts'
import { createLogSegment } from './segment-files.ts'
import * as room from './space-core.ts'

const LIMITS: core.CommitLimits = {
  queueBytesMax: 32 * 1024 * 1024,
  queueEntriesMax: 4_096,
  groupBytesMax: 8 * 1024 * 1024,
  groupEntriesMax: 256,
  unsyncedBytesMax: 32 * 1024 * 1024,
}
/** The pause after a failed attempt to get a new segment: it doubles from the first to the second. */
const HEAL_MS_MIN = 100
const HEAL_MS_MAX = 5_000

interface DraftBatch {
  readonly drafts: readonly Draft[]
  /** Runs once, in the step in which the outcome is known and before the waiting callers receive it. */
  readonly onSettled: ((outcome: CairnError | undefined) => void) | undefined
  records: readonly PlacedRecord[]
}

/** What was submitted. Any number of tasks may wait for its fate, at any time, or none. */
export class Submission {
  /** Its place in line: what has a lower one is written, and durable, before it. */
  readonly turn: number
  readonly #entry: core.CommitEntry<DraftBatch>
  readonly #wake: () => void

  constructor(turn: number, entry: core.CommitEntry<DraftBatch>, wake: () => void) {
    this.turn = turn
    this.#entry = entry
    this.#wake = wake
  }

  /** Resolves once the records are in the file, so that their buffers can be used again; not yet durable. */
  async written(options: WaitOptions = {}): Promise<void> {
    const entry = this.#entry
    if (entry.state.tag === 'queued' || entry.state.tag === 'writing') await waitIn(entry.untilWritten, options)
    if (entry.state.tag === 'failed') throw entry.state.error
  }

  /** Resolves once the records are durable. Leaving the wait does not take them back. */
  async durable(options: WaitOptions = {}): Promise<readonly PlacedRecord[]> {
    const entry = this.#entry
    entry.wantsSync = true
    this.#wake()
    if (entry.state.tag !== 'durable' && entry.state.tag !== 'failed') await waitIn(entry.untilDurable, options)
    if (entry.state.tag === 'failed') throw entry.state.error
    return entry.item.records
  }
}

/** The one further back in line: a write that was joined may have been in line for long. */
export function laterOf(a: Submission | undefined, b: Submission): Submission {
  return a !== undefined && a.turn > b.turn ? a : b
}

export interface SubmitOptions {
  /** Tombstones: may use the reserve of a full disk. */
  readonly freesSpace?: boolean
  /** Do not sync for these alone: they become durable with whatever is synced next, at the latest when a caller asks. */
  readonly lazy?: boolean
  readonly onSettled?: (outcome: CairnError | undefined) => void
}

export interface AppenderStart {
  readonly machine: JournalMachine
  readonly directory: DriveDirectory
  readonly store: Uint8Array
  readonly segmentBytes: number
  readonly space: room.SpaceCore
  /** Makes room out of the reserve; false if there is none left. */
  readonly giveBack: (bytes: number) => Promise<boolean>
  readonly nextLsn: number
  /** The log segment before the one to be made first. */
  readonly previous: Position | undefined
  readonly takeNumber: () => number
  readonly onSegment: (segment: Segment) => void
  /** A segment that takes no more. */
  readonly onSealed: (segment: Segment) => void
  /** Called after the callers were told: everything of the segment up to its end is durable. */
  readonly onDurable: (segment: Segment, lsn: number) => void
  /** Told of what became durable, in order of LSN, before its callers are. */
  readonly sink: (records: readonly PlacedRecord[], end: Position) => void
}

interface Active {
  readonly segment: Segment
  readonly file: DiskFile
  /** How far writes have ended: the next sync covers this, and not what is in flight when it begins. */
  written: { readonly offset: number; readonly lsn: number }
}

export class Appender {
  readonly #start: AppenderStart
  readonly #core = core.createCommit<DraftBatch>(LIMITS)
  readonly #space: room.SpaceCore
  readonly #idle = new Waiters<undefined>()
  readonly #stop = new AbortController()
  #active: Active | undefined
  /** Files of earlier segments that are being closed. */
  #closing: Promise<unknown> = Promise.resolve()
  #nextLsn: number
  #syncedLsn: number
  #turn = 0
  #failures = 0
  /** Operations in flight, and the search for a new segment after a failure. */
  #inFlight = 0
  #isClosed = false

  constructor(start: AppenderStart, active: Pick<Active, 'segment' | 'file'> | undefined) {
    this.#start = start
    if (active !== undefined) {
      this.#active = { ...active, written: { offset: active.segment.size, lsn: start.nextLsn - 1 } }
    }
    this.#nextLsn = start.nextLsn
    this.#syncedLsn = start.nextLsn - 1
    this.#space = start.space
  }

  /** Why nothing can be written now, if nothing can. */
  get unready(): CairnError | undefined {
    return this.#core.state.tag === 'ready' ? undefined : this.#core.state.error
  }

  /**
   * Throws while nothing can be written. What a failed write left counts again after a power cut, until a new segment
   * says that it does not: till then not even "it is there already" may be promised, nor "it is gone already".
   */
  mustBeReady(): void {
    const { unready } = this
    if (unready !== undefined) throw notReady(unready)
  }

  get syncedLsn(): number {
    return this.#syncedLsn
  }

  /** Grows whenever something that was in line fails: what was counted on before may not come. */
  get failures(): number {
    return this.#failures
  }

  get activeNumber(): number | undefined {
    return this.#active?.segment.number
  }

  /** Puts records in line, together and in this order; throws if they cannot even wait. */
  submit(drafts: readonly Draft[], { freesSpace = false, lazy = false, onSettled }: SubmitOptions = {}): Submission {
    if (this.#isClosed) throw new CairnError('Canceled', 'The store is closed.')
    this.mustBeReady()
    if (drafts.some(({ payload }) => payload.length > PAYLOAD_BYTES_MAX)) {
      throw new CairnError('TooLarge', `A record has at most ${PAYLOAD_BYTES_MAX} bytes.`)
    }
    const bytes = draftBytes(drafts)
    if (bytes > this.#start.segmentBytes - SEGMENT_HEADER_BYTES) {
      throw new CairnError('TooLarge', `Records of ${bytes} bytes do not fit one segment; submit them in parts.`)
    }
    const item: DraftBatch = { drafts, onSettled, records: [] }
    const entry = core.submit(this.#core, { item, bytes, freesSpace, wantsSync: !lazy })
    if (entry === 'full') {
      throw new CairnError('Busy', 'Too many bytes wait to be written; try again shortly.', { retryAfterMs: 1_000 })
    }
    this.#advance()
    this.#turn += 1
    return new Submission(this.#turn, entry, () => this.#advance())
  }

  /**
   * Makes the segment to begin with, if there is none to go on in. Where the drive cannot, it throws; with `canWait`
   * nothing is ready to be written until it can, and what is there is read meanwhile.
   */
  async begin(canWait: boolean): Promise<void> {
    if (this.#active !== undefined) return
    try {
      await this.#newSegment()
    } catch (error) {
      if (!canWait) throw error
      core.broke(this.#core, 'roll', this.#failed(error))
      this.#advance()
    }
  }

  /** Finishes what is under way and writes no more. */
  async close(): Promise<void> {
    this.#isClosed = true
    const { unsynced, writing, queue } = this.#core
    for (const entry of [...unsynced, ...writing, ...queue]) entry.wantsSync = true
    this.#advance()
    this.#stop.abort()
    if (this.#inFlight > 0) await waitIn(this.#idle)
    await Promise.allSettled([this.#closing, this.#active?.file.close()])
  }

  /** Starts everything that can be started now. */
  #advance(): void {
    for (;;) {
      const step = core.nextStep(this.#core, this.#roomBytes())
      if (step.tag === 'idle') break
      if (step.tag === 'write') this.#launch('write', async () => await this.#write(step.group, step.bytes))
      else if (step.tag === 'sync') this.#launch('sync', async () => await this.#sync())
      else if (step.tag === 'refuse') this.#settle(core.refuse(this.#core, diskFull()))
      else this.#launch('roll', async () => await this.#roll())
    }
    const failed = core.fail(this.#core)
    if (failed !== undefined) {
      this.#settle(failed)
      this.#launch('roll', async () => await this.#heal())
    }
    if (this.#inFlight === 0) this.#idle.wakeAll(undefined)
  }

  #launch(operation: 'write' | 'sync' | 'roll', work: () => Promise<void>): void {
    this.#inFlight += 1
    Promise.try(work)
      .catch((error: unknown) => core.broke(this.#core, operation, this.#failed(error)))
      .then(() => {
        this.#inFlight -= 1
        this.#advance()
      })
      .catch((error: unknown) => this.#start.machine.log.error({ error }, 'the appender stopped'))
  }

  #roomBytes(): number {
    const segment = this.#active?.segment
    return segment === undefined ? 0 : this.#start.segmentBytes - segment.size
  }

  async #write(group: readonly core.CommitEntry<DraftBatch>[], bytes: number): Promise<void> {
    const active = this.#active
    if (active === undefined) throw new CairnError('Internal', 'There is no segment to write to.')
    if (group.every(({ freesSpace }) => freesSpace)) await this.makeRoom(bytes)
    else if (!(await this.#hasRoom(bytes))) {
      core.lacksRoom(this.#core)
      return
    }
    const { segment, file } = active
    const drafts = group.flatMap(({ item }) => item.drafts)
    const start = { offset: segment.size, firstLsn: this.#nextLsn, syncedLsn: this.#syncedLsn }
    const { buffers, records } = encodeGroup(segment, drafts, start)
    // A failed group's LSNs are never given out again, and its bytes lie beyond the end of the segment.
    this.#nextLsn += drafts.length
    segment.size += bytes
    let at = 0
    for (const { item } of group) {
      item.records = records.slice(at, at + item.drafts.length)
      at += item.drafts.length
    }
    const end = { offset: segment.size, lsn: this.#nextLsn - 1 }
    const offset = await this.#start.directory.append(file, buffers)
    if (offset !== start.offset) throw new CairnError('Internal', 'The segment is not as long as it should be.')
    room.spend(this.#space, bytes)
    active.written = end
    core.wrote(this.#core)
  }

  async #sync(): Promise<void> {
    const active = this.#active
    if (active === undefined) throw new CairnError('Internal', 'There is no segment to sync.')
    const { offset, lsn } = active.written
    await this.#start.directory.sync(active.file)
    this.#syncedLsn = lsn
    active.segment.end = offset
    const durable = core.synced(this.#core)
    const records = durable.flatMap(({ item }) => item.records)
    try {
      this.#start.sink(records, { segment: active.segment.number, offset: active.segment.end })
    } finally {
      // Whatever becomes of the views, the records are durable and the waiting callers must learn it.
      this.#settle(durable)
      this.#start.onDurable(active.segment, this.#syncedLsn)
    }
  }

  async #roll(): Promise<void> {
    await this.#newSegment()
    core.rolled(this.#core)
  }

  #settle(entries: readonly core.CommitEntry<DraftBatch>[]): void {
    if (entries.some(({ state }) => state.tag === 'failed')) this.#failures += 1
    for (const { item, state } of entries) item.onSettled?.(state.tag === 'failed' ? state.error : undefined)
    core.announce(entries)
  }

  /** For what may use the reserve: gives some of it back if the drive lacks room for so many bytes. */
  async makeRoom(bytes: number): Promise<void> {
    // Others write to the drive too: what a delete needs is not taken from an estimate.
    this.#space.trustedBytes = 0
    await this.#askForRoom(bytes)
    const lacking = room.lacking(this.#space, bytes)
    if (lacking > 0) await this.#giveBack(lacking)
  }

  async #hasRoom(bytes: number): Promise<boolean> {
    await this.#askForRoom(bytes)
    return room.hasRoom(this.#space, bytes)
  }

  async #askForRoom(bytes: number): Promise<void> {
    if (!room.mustAsk(this.#space, bytes)) return
    const { freeBytes } = await this.#start.directory.space()
    room.answered(this.#space, freeBytes)
  }

  /** What cannot be given back is missing like any other room: the write that needs it says so. */
  async #giveBack(bytes: number): Promise<boolean> {
    try {
      return await this.#start.giveBack(bytes)
    } catch (error) {
      this.#start.machine.log.warn({ error }, 'the reserve cannot be given back')
      return false
    }
  }

  async #newSegment(): Promise<void> {
    const { machine, store, takeNumber, onSegment, onSealed } = this.#start
    const last = this.#active
    const previous = last === undefined ? this.#start.previous : positionOf(last.segment)
    const header = {
      format: FORMAT,
      overlapsSync: true,
      role: 'log',
      store,
      salt: machine.random.bytes(16),
      number: takeNumber(),
      firstLsn: this.#nextLsn,
      previous: previous?.segment ?? 0,
      previousEnd: previous?.offset ?? 0,
    } as const
    const file = await this.#create(header)
    const segment = makeSegment(machine.crypto.crc32, header, SEGMENT_HEADER_BYTES, SEGMENT_HEADER_BYTES)
    this.#active = { segment, file, written: { offset: SEGMENT_HEADER_BYTES, lsn: this.#nextLsn - 1 } }
    onSegment(segment)
    if (last !== undefined) onSealed(last.segment)
    // Not waited for here: a file whose last operation hangs does not close before it ends.
    this.#closing = Promise.allSettled([this.#closing, last?.file.close()])
  }

  /** Only deletes may follow, but without a segment not even they. */
  async #create(header: SegmentHeader): Promise<DiskFile> {
    const { machine, directory } = this.#start
    try {
      return await createLogSegment(directory, machine.crypto.crc32, header)
    } catch (error) {
      if (toCairnError(error).status !== 507 || !(await this.#giveBack(SEGMENT_HEADER_BYTES))) throw error
      return await createLogSegment(directory, machine.crypto.crc32, header)
    }
  }

  /** What the callers are told of it. */
  #failed(error: unknown): CairnError {
    this.#start.machine.log.error({ error }, 'a write failed; the segment is sealed and a new one is needed')
    // The disk may be full; what it said last is worth nothing.
    this.#space.trustedBytes = 0
    return writeFailed(toCairnError(error))
  }

  /** Tries until a new segment proves that the drive takes writes again, or the journal is closed. */
  async #heal(): Promise<void> {
    for (let pauseMs = HEAL_MS_MIN; !this.#stop.signal.aborted; pauseMs = Math.min(HEAL_MS_MAX, 2 * pauseMs)) {
      try {
        await this.#newSegment()
        core.reopen(this.#core)
        return
      } catch (error) {
        this.#start.machine.log.warn({ error }, 'no new segment yet')
      }
      try {
        await sleep(this.#start.machine.clock, pauseMs, { signal: this.#stop.signal })
      } catch {
        return
      }
    }
  }
}

function positionOf({ number, end }: Segment): Position {
  return { segment: number, offset: end }
}

function writeFailed(cause: CairnError): CairnError {
  if (cause.status === 507) return cause
  const detail = 'The drive refused a write; nothing of it counts. Try again once the store is ready.'
  return new CairnError('StorageBusy', detail, { code: 'write_failed', retryAfterMs: 1_000, cause })
}

function notReady(cause: CairnError): CairnError {
  if (cause.status === 507) return cause
  const detail = 'The store cannot write now: the last write failed and no new segment has proved itself yet.'
  return new CairnError('StorageBusy', detail, { code: 'write_unready', retryAfterMs: 1_000, cause })
}

function diskFull(): CairnError {
  const detail = 'The disk is full but for the reserve; delete something, or add space.'
  return new CairnError('StorageBusy', detail, { code: 'no_space', status: 507 })
}
