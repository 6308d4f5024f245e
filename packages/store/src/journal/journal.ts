/**
 * An append-only journal: the only thing here that is durable. Everything else is a view of it and can be rebuilt.
 *
 *     0000000007.seg      │ header │ record │ record │ record │            sealed: its end is known, all of it was synced
 *     0000000009.seg      │ header │ record │ record │ rec…                active: the one appender writes here
 *     0000000008.seg      │ header │ record │ record │                     compacted: copies, with the LSN they had
 *
 *     append ─▶ fdatasync ─▶ sink: the index, in memory ─▶ the caller is told ─▶ index batch {entries, watermark}
 *                   └─ one group under way; whoever comes meanwhile is the next group
 *
 * Never true here:
 *   – a caller was told, and the record is not below a sync that returned;
 *   – a record counts that was not asked for, or comes back after what cut it off was synced;
 *   – a file is written to again after a write or a sync of it failed;
 *   – something that had been synced is cut off as if it had not.
 */
import { CairnError, Closeable } from '@cairn/kernel'
import { makeDirectories } from '@cairn/platform'
import { DriveDirectory } from '../drive/directory.ts'
import { Drive } from '../drive/drive.ts'
import type { JournalMachine } from '../machine.ts'
import { Appender, type Submission, type SubmitOptions } from './appender.ts'
import { RECORD_HEADER_BYTES, type RecordHeader, SEGMENT_HEADER_BYTES } from './format.ts'
import type { Draft, PlacedRecord } from './group.ts'
import { unretire } from './pins-core.ts'
import { type Recovered, recover, type Watermark } from './recovery.ts'
import type { Gap } from './recovery-core.ts'
import { scan } from './scan.ts'
import { type Place, type Position, type Segment, segmentName } from './segment.ts'
import { SegmentFiles, segmentGone } from './segment-files.ts'

const SEGMENT_BYTES = 256 * 1024 * 1024
const IO_TIMEOUT_MS = 5_000

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
  readonly ioTimeoutMs?: number
}

export type ReplayEvent =
  | ({ readonly tag: 'record'; readonly end: Position } & PlacedRecord)
  | { readonly tag: 'damage'; readonly segment: number; readonly gap: Gap }

export class Journal extends Closeable {
  readonly directory: DriveDirectory
  readonly segmentBytes: number
  readonly #machine: JournalMachine
  readonly #drive: Drive
  readonly #appender: Appender
  readonly #files: SegmentFiles
  readonly #segments = new Map<number, Segment>()
  readonly #unlinked = new Set<Segment>()
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
    this.#files = new SegmentFiles(directory)
    for (const segment of start.segments) this.#segments.set(segment.number, segment)
    this.segmentBytes = options.segmentBytes ?? SEGMENT_BYTES
    this.#appender = new Appender(
      {
        machine,
        directory,
        store: this.#store,
        segmentBytes: this.segmentBytes,
        reserveBytes: options.reserveBytes ?? 2 * this.segmentBytes,
        nextLsn: start.nextLsn,
        previous: start.end,
        takeNumber: () => this.takeNumber(),
        onSegment: (segment) => this.addSegment(segment),
        sink: options.sink,
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
      await journal.#appender.begin()
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

  /** Throws while nothing can be written: for whoever would promise something without writing it. */
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

  /** Files that are ours by name and unreadable from their first byte; kept as they are. */
  get unreadable(): readonly number[] {
    return this.#start.unreadable
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

  /** The record at this place, both its sums checked. The segment is pinned from this very call on. */
  async read(place: Place): Promise<RecordHeader & { readonly payload: Uint8Array }> {
    // A bit may flip on the way: what is wrong twice is wrong where it lies.
    const record = (await this.#readSound(place)) ?? (await this.#readSound(place))
    if (record !== undefined) return record
    throw new CairnError('Integrity', 'A record of the journal is damaged.', { code: 'record_damaged' })
  }

  async #readSound(place: Place): Promise<(RecordHeader & { readonly payload: Uint8Array }) | undefined> {
    const segment = this.#segment(place.segment)
    const bytes = new Uint8Array(RECORD_HEADER_BYTES + place.length)
    const count = await this.#files.use(segment, async (file) => await this.directory.read(file, place.offset, bytes))
    const header = count === bytes.length ? segment.sums.decode(bytes, 0, place.offset) : undefined
    const payload = bytes.subarray(RECORD_HEADER_BYTES)
    if (header?.length !== place.length) return undefined
    const isSound = segment.sums.payloadSum(place.offset, header.lsn, payload) === header.payloadSum
    return isSound ? { ...header, payload } : undefined
  }

  /** Fills `into` with the payload at this place as it lies there; the caller proves it by its address. */
  async readPayload(place: Place, into: Uint8Array): Promise<void> {
    const segment = this.#segment(place.segment)
    const at = place.offset + RECORD_HEADER_BYTES
    const count = await this.#files.use(segment, async (file) => await this.directory.read(file, at, into))
    if (count !== into.length) throw new CairnError('Integrity', 'A segment ends before what the index says it holds.')
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

  /** Like `replay`, of one segment. A payload is valid until the next event is asked for. */
  async *replaySegment(segment: Segment, from = SEGMENT_HEADER_BYTES): AsyncGenerator<ReplayEvent> {
    const read = async (position: number, into: Uint8Array): Promise<number> =>
      await this.#files.use(segment, async (file) => await this.directory.read(file, position, into))
    for await (const event of scan(segment.sums, { from, to: segment.end, read })) {
      if (event.tag === 'bad') {
        const gap = { from: event.offset, to: event.next }
        this.#damaged(segment, gap)
        yield { tag: 'damage', segment: segment.number, gap }
      } else {
        const { header, offset, payload, next } = event
        const place = { segment: segment.number, offset, length: header.length }
        const end = { segment: segment.number, offset: next }
        yield { tag: 'record', ...header, payload, place, end }
      }
    }
  }

  /** Waits for its readers, then takes the segment away for good. Nothing may refer to it any more. */
  async removeSegment(segment: Segment): Promise<void> {
    await this.#files.drain(segment)
    try {
      await this.directory.unlink(segmentName(segment.number))
    } catch (error) {
      unretire(segment.pins)
      throw error
    }
    this.#unlinked.add(segment)
    await this.settleRemovals()
  }

  /** Segments that are unlinked count until their names are durably gone; this makes them so, if that failed before. */
  async settleRemovals(): Promise<void> {
    const unlinked = [...this.#unlinked]
    if (unlinked.length === 0) return
    await this.directory.syncNames()
    for (const segment of unlinked) {
      this.#unlinked.delete(segment)
      this.#segments.delete(segment.number)
    }
  }

  /** Finishes what is in line and takes no more; what is there can still be read, until `close`. */
  async finish(): Promise<void> {
    this.#finishing ??= this.#appender.close()
    await this.#finishing
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
