/**
 * An append-only journal: the only thing here that is durable. Everything else is a view of it and can be rebuilt.
 *
 *     0000000007.seg      │ header │ record │ record │ record │            sealed: its end is known, all of it was synced
 *     0000000009.seg      │ header │ record │ record │ rec…                active: the one appender writes here
 *     0000000008.seg      │ header │ record │ record │                     compacted: copies, with the LSN they had
 *
 *     append ─▶ fdatasync ─▶ sink: the index, in memory ─▶ acknowledged
 *                   └─ one sync in flight; the next group is written meanwhile
 *
 * Never true here:
 *   – a record was acknowledged, and is not below a sync that returned;
 *   – a record counts that was not asked for, or comes back after what cut it off was synced;
 *   – a file is written to again after a write or a sync of it failed;
 *   – something that had been synced is cut off as if it had not.
 */
import { CairnError, Closeable, isKind } from '@cairn/kernel'
import { makeDirectories } from '@cairn/platform'
import { Drive, DriveDirectory, type JournalMachine } from '../drive/drive.ts'
import { Appender, type Submission, type SubmitOptions } from './appender.ts'
import { RECORD_HEADER_BYTES, type RecordHeader, SEGMENT_HEADER_BYTES } from './format.ts'
import { unretire } from './pins-core.ts'
import { type LogCut, type Recovered, recover, type Watermark } from './recovery.ts'
import type { Gap } from './recovery-core.ts'
import { Reserve } from './reserve.ts'
import { type ScanEvent, scanTogether } from './scan.ts'
import { isPayloadSound } from './scan-core.ts'
import {
  type Draft,
  givenUpName,
  type PlacedRecord,
  type Position,
  type RecordPlace,
  type Segment,
  segmentName,
  sideName,
} from './segment.ts'
import { SegmentFiles, segmentGone } from './segment-files.ts'
import * as room from './space-core.ts'
import { NoteWriter } from './synced-note.ts'

const SEGMENT_BYTES = 256 * 1024 * 1024
const IO_TIMEOUT_MS = 5_000
/** Open segment files beyond this many are closed again, least recently used first; each costs a descriptor. */
const OPEN_FILES_MAX = 256
const OPEN_FILES_MIN = 4
const OPEN_FILES_SHARE = 16

export interface JournalOptions {
  readonly path: string
  /** Told of every record that became durable, in order of LSN, before the callers who wait for it. */
  readonly sink: (records: readonly PlacedRecord[], end: Position) => void
  /** Up to where the views of this journal are known to be durable: below it nothing is ever cut. */
  readonly watermark?: Watermark | undefined
  /** Whose views they are; the journal's own word goes first, but there may be no segment left that can be read. */
  readonly store?: Uint8Array | undefined
  readonly segmentBytes?: number
  /** Left free for tombstones and compaction; two segments unless given. */
  readonly reserveBytes?: number
  /** Holds the reserve in a file of its own, so that no other program can take it. */
  readonly holdsReserve?: boolean
  readonly ioTimeoutMs?: number
  /** Called once for each log segment that takes no more, be it full or failed: its `end` and everything in it stay. */
  readonly onSealed?: (segment: Segment) => void
}

export interface ReserveFacts {
  readonly wantedBytes: number
  readonly heldBytes: number
  readonly leftAloneBytes: number
}

export type ReplayEvent =
  | ({ readonly tag: 'record'; readonly end: Position } & PlacedRecord)
  | {
      readonly tag: 'damage'
      readonly segment: number
      readonly gap: Gap
      /** Of the record that begins there, where only its payload is damaged. */
      readonly header?: RecordHeader | undefined
    }

export class Journal extends Closeable {
  readonly directory: DriveDirectory
  readonly segmentBytes: number
  readonly #machine: JournalMachine
  readonly #drive: Drive
  readonly #appender: Appender
  readonly #files: SegmentFiles
  readonly #notes: NoteWriter
  readonly #reserve: Reserve
  readonly #space: room.SpaceCore
  readonly #segments = new Map<number, Segment>()
  readonly #unlinked = new Set<Segment>()
  readonly #givenUp = new Set<number>()
  readonly #start: Recovered
  readonly #store: Uint8Array
  #nextNumber: number
  #finishing: Promise<void> | undefined

  private constructor(
    machine: JournalMachine,
    options: JournalOptions,
    drive: Drive,
    directory: DriveDirectory,
    start: Recovered,
  ) {
    super(machine, `journal ${options.path}`)
    this.#machine = machine
    this.#drive = drive
    this.directory = directory
    this.#start = start
    this.#store = start.store ?? options.store ?? machine.random.bytes(16)
    this.#nextNumber = start.nextNumber
    this.#files = new SegmentFiles(directory, openFilesMax(machine.disk))
    // Of a drive of its own: nothing that is acknowledged waits behind a note.
    const aside = new DriveDirectory(
      machine.disk,
      new Drive(machine, options.ioTimeoutMs ?? IO_TIMEOUT_MS),
      options.path,
    )
    this.#notes = new NoteWriter(machine, aside, start.noteFile)
    this.#space = room.createSpace(options.reserveBytes ?? 2 * (options.segmentBytes ?? SEGMENT_BYTES))
    this.#reserve = new Reserve(machine, aside, this.#space)
    for (const segment of start.segments) this.#segments.set(segment.number, segment)
    this.segmentBytes = options.segmentBytes ?? SEGMENT_BYTES
    this.#appender = new Appender(
      {
        machine,
        directory,
        store: this.#store,
        segmentBytes: this.segmentBytes,
        space: this.#space,
        giveBack: async (bytes) => await this.#reserve.giveBack(bytes),
        nextLsn: start.nextLsn,
        previous: start.end,
        takeNumber: () => this.takeNumber(),
        onSegment: (segment) => this.addSegment(segment),
        sink: options.sink,
        onDurable: ({ number, end, header }, lsn) =>
          this.#notes.synced({ store: this.#store, salt: header.salt, segment: number, offset: end, lsn }),
        onSealed: (segment) => options.onSealed?.(segment),
      },
      start.active,
    )
  }

  /** Opens or makes the journal in this directory. Reads headers and the unsynced end only, however large it is. */
  static async open(machine: JournalMachine, options: JournalOptions): Promise<Journal> {
    const drive = new Drive(machine, options.ioTimeoutMs ?? IO_TIMEOUT_MS)
    const directory = new DriveDirectory(machine.disk, drive, options.path)
    await makeDirectories(machine.disk, options.path)
    const start = await recover(machine, directory, options.watermark)
    const journal = new Journal(machine, options, drive, directory, start)
    try {
      await journal.#reserve.open(options.holdsReserve ?? false)
      // Where there is something to read, a drive that takes no new segment now does not keep it from being read.
      await journal.#appender.begin(start.segments.length > 0)
      return journal
    } catch (error) {
      await journal.close()
      throw error
    }
  }

  /** Puts records in line to be written together; see `Submission`. */
  submit(drafts: readonly Draft[], options: SubmitOptions = {}): Submission {
    return this.#appender.submit(drafts, options)
  }

  /** Why nothing can be written now; `undefined` if everything can. */
  get unready(): CairnError | undefined {
    return this.#appender.unready
  }

  /** Throws while nothing can be written: for a caller that promises something without writing it. */
  mustBeReady(): void {
    this.#appender.mustBeReady()
  }

  /** Grows whenever something that was in line fails: what was counted on before may not come. */
  get failures(): number {
    return this.#appender.failures
  }

  get isStalled(): boolean {
    return this.#drive.isStalled
  }

  get syncedLsn(): number {
    return this.#appender.syncedLsn
  }

  /** Where the log ended when it was opened: what lies before must be replayed, what comes after goes to the sink. */
  get openedAt(): Position | undefined {
    return this.#start.end
  }

  /** What was cut off the end of the log when it was opened; it may include acknowledged records. */
  get cut(): LogCut | undefined {
    return this.#start.cut
  }

  /** The reserve, and how much room data must leave on the drive besides it. */
  get reserve(): ReserveFacts {
    const { reserveBytes: wantedBytes, heldBytes } = this.#space
    return { wantedBytes, heldBytes, leftAloneBytes: room.leftAlone(this.#space) }
  }

  /** Before a compaction writes so many bytes: it may use the reserve. */
  async makeRoom(bytes: number): Promise<void> {
    await this.#appender.makeRoom(bytes)
  }

  /** How often the note of what is durable could not be written: nothing is lost by it but knowledge. */
  get noteFailures(): number {
    return this.#notes.failures
  }

  /** Files that are ours by name and unreadable from their first byte, kept as they are; and segments that are missing. */
  get unreadable(): readonly number[] {
    return this.#start.unreadable.filter((number) => !this.#givenUp.has(number))
  }

  get activeNumber(): number | undefined {
    return this.#appender.activeNumber
  }

  get storeId(): Uint8Array {
    return this.#store
  }

  segments(): readonly Segment[] {
    return [...this.#segments.values()]
  }

  /** Whether this segment is here and can be read. */
  holds(number: number): boolean {
    return this.#segments.has(number)
  }

  /** A number no other segment has. */
  takeNumber(): number {
    const number = this.#nextNumber
    this.#nextNumber += 1
    return number
  }

  addSegment(segment: Segment): void {
    this.#segments.set(segment.number, segment)
  }

  /** The record at this place, its header and its payload proved: by their sums, or the payload by the id that is its hash. The segment is pinned from this very call on. */
  async read(place: RecordPlace): Promise<RecordHeader & { readonly payload: Uint8Array }> {
    // A bit may flip on the way: what is wrong twice is wrong where it lies.
    const record = (await this.#readSound(place)) ?? (await this.#readSound(place))
    if (record !== undefined) return record
    throw recordDamaged()
  }

  async #readSound(place: RecordPlace): Promise<(RecordHeader & { readonly payload: Uint8Array }) | undefined> {
    const segment = this.#segment(place.segment)
    const bytes = new Uint8Array(RECORD_HEADER_BYTES + place.length)
    const count = await this.#files.use(segment, async (file) => await this.directory.read(file, place.offset, bytes))
    const header = count === bytes.length ? segment.sums.decode(bytes, 0, place.offset) : undefined
    const payload = bytes.subarray(RECORD_HEADER_BYTES)
    if (header?.length !== place.length) return undefined
    return isPayloadSound(segment.sums, place.offset, header, payload) ? { ...header, payload } : undefined
  }

  /** The header of the record at this place, its own sum checked; nothing is said of the payload. */
  async readHeader(place: RecordPlace): Promise<RecordHeader> {
    const header = (await this.#readSoundHeader(place)) ?? (await this.#readSoundHeader(place))
    if (header !== undefined) return header
    throw recordDamaged()
  }

  async #readSoundHeader(place: RecordPlace): Promise<RecordHeader | undefined> {
    const segment = this.#segment(place.segment)
    const bytes = new Uint8Array(RECORD_HEADER_BYTES)
    const count = await this.#files.use(segment, async (file) => await this.directory.read(file, place.offset, bytes))
    const header = count === bytes.length ? segment.sums.decode(bytes, 0, place.offset) : undefined
    return header?.length === place.length ? header : undefined
  }

  /** Fills `into` with the payload at this place as it lies there; the caller proves it by its address. */
  async readPayload(place: RecordPlace, into: Uint8Array): Promise<void> {
    const segment = this.#segment(place.segment)
    const at = place.offset + RECORD_HEADER_BYTES
    const count = await this.#files.use(segment, async (file) => await this.directory.read(file, at, into))
    if (count !== into.length) throw new CairnError('Integrity', 'A segment ends before what the index says it holds.')
  }

  /** Whether any reader of the segment found the record there damaged. */
  isDamagedAt({ segment, offset }: RecordPlace): boolean {
    const { damage = [] } = this.#segments.get(segment) ?? {}
    return damage.some(({ from, to }) => from <= offset && offset < to)
  }

  /** How much of the journal `replay` would read from there on. */
  bytesAfter(from: Position | undefined): number {
    return this.segments().reduce((sum, { number, end }) => {
      if (number < (from?.segment ?? 0)) return sum
      return sum + end - (number === from?.segment ? from.offset : SEGMENT_HEADER_BYTES)
    }, 0)
  }

  /** Every record from `from` on, segment by segment up to what is durable now. Damage is reported and passed over. */
  async *replay(from?: Position): AsyncGenerator<ReplayEvent> {
    const segments = this.segments().filter(({ number }) => number >= (from?.segment ?? 0))
    for (const segment of segments.sort((a, b) => a.number - b.number)) {
      yield* this.replaySegment(segment, from?.segment === segment.number ? from.offset : SEGMENT_HEADER_BYTES)
    }
  }

  /** Like `replay`, of one segment, from a place where a record begins. A payload is valid until the next event is asked for. */
  async *replaySegment(segment: Segment, from = SEGMENT_HEADER_BYTES): AsyncGenerator<ReplayEvent> {
    for await (const events of this.replayTogether(segment, from)) yield* events
  }

  /** The same, many events at a time; their payloads are valid until the next are asked for. */
  async *replayTogether(segment: Segment, from: number, windowBytes?: number): AsyncGenerator<readonly ReplayEvent[]> {
    const read = async (position: number, into: Uint8Array): Promise<number> =>
      await this.#files.use(segment, async (file) => await this.directory.read(file, position, into))
    const range = { from, to: segment.end, read, ...(windowBytes === undefined ? {} : { windowBytes }) }
    for await (const events of scanTogether(segment.sums, range)) {
      yield events.map((event) => this.#replayed(segment, event))
    }
    // What had been durable and is not there any more.
    const cut = segment.damage.filter((each) => each.from >= segment.end)
    yield cut.map((gap) => ({ tag: 'damage', segment: segment.number, gap }))
  }

  #replayed(segment: Segment, event: ScanEvent): ReplayEvent {
    const { number } = segment
    if (event.tag === 'bad') {
      const gap = { from: event.offset, to: event.next }
      this.#damaged(segment, gap)
      return { tag: 'damage', segment: number, gap, header: event.header }
    }
    const { header, offset, payload, next } = event
    const { kind, flags, id, lsn, length } = header
    const end = { segment: number, offset: next }
    return { tag: 'record', kind, flags, id, lsn, payload, place: { segment: number, offset, length }, end }
  }

  /** Waits for its readers, then takes the segment away for good. Nothing may refer to it any more. */
  async removeSegment(segment: Segment): Promise<void> {
    await this.#files.drain(segment)
    try {
      await this.#forgetSideFile(segment.number)
      await this.directory.unlink(segmentName(segment.number))
    } catch (error) {
      unretire(segment.pins)
      throw error
    }
    this.#unlinked.add(segment)
    await this.settleRemovals()
  }

  /** Durably, before the segment goes: a side file without its segment says that the segment was lost. */
  async #forgetSideFile(number: number): Promise<void> {
    const { directory } = this
    await directory.unlinkIfThere(sideName(number))
    await directory.syncNames()
  }

  /** Takes a segment that is damaged or unreadable out of the journal for good. Its file stays, under the name returned. */
  async giveUp(number: number): Promise<string> {
    const segment = this.#segments.get(number)
    if (segment !== undefined) await this.#files.drain(segment)
    const name = givenUpName(number)
    try {
      await this.#forgetSideFile(number)
      await this.directory.rename(segmentName(number), name)
    } catch (error) {
      if (segment !== undefined) unretire(segment.pins)
      // One that is missing has no file.
      if (segment !== undefined || !isKind(error, 'NotFound')) throw error
    }
    if (segment !== undefined) this.#unlinked.add(segment)
    // Back after a power cut, it would bring back what was deleted once it was gone.
    await this.#settleNames()
    this.#givenUp.add(number)
    return name
  }

  /** Segments that are unlinked count until their names are durably gone; this makes them so, if that failed before. */
  async settleRemovals(): Promise<void> {
    if (this.#unlinked.size > 0) await this.#settleNames()
  }

  async #settleNames(): Promise<void> {
    const unlinked = [...this.#unlinked]
    await this.directory.syncNames()
    for (const segment of unlinked) {
      this.#unlinked.delete(segment)
      this.#segments.delete(segment.number)
    }
  }

  /** Finishes what is in line and takes no more; what is there can still be read, until `close`. */
  async finish(): Promise<void> {
    this.#finishing ??= this.#finish()
    await this.#finishing
  }

  async #finish(): Promise<void> {
    await this.#appender.close()
    await this.#notes.close()
    await this.#reserve.close()
  }

  protected override async release(): Promise<void> {
    await this.finish()
    await this.#files.close()
  }

  #segment(number: number): Segment {
    const segment = this.#segments.get(number)
    if (segment !== undefined) return segment
    if (this.unreadable.includes(number)) throw new CairnError('Integrity', `Segment ${number} is damaged.`)
    throw segmentGone(number)
  }

  #damaged(segment: Segment, gap: Gap): void {
    if (segment.damage.some(({ from }) => from === gap.from)) return
    segment.damage.push(gap)
    this.#machine.log.error({ segment: segment.number, ...gap }, 'a stretch of the journal is damaged')
  }
}

/** So many segments of one journal are kept open: a share of what the process may have, of which it has several. */
function openFilesMax({ openFilesMax: limit = Number.POSITIVE_INFINITY }: JournalMachine['disk']): number {
  return Math.max(OPEN_FILES_MIN, Math.min(OPEN_FILES_MAX, Math.floor(limit / OPEN_FILES_SHARE)))
}

function recordDamaged(): CairnError {
  return new CairnError('Integrity', 'A record of the journal is damaged.', { code: 'record_damaged' })
}
