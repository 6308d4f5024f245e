/**
 * Reads every record of the journal where it lies, proves it, and compares it with the index both ways.
 *
 *     segment ─▶ record: header, payload sum or hash ─┬─ newest of its id, and the index says so ─▶ right
 *                                                     ├─ newest, and the index does not ──────────▶ mended, counted
 *                                                     └─ there is a newer one ────────────────────▶ nothing to compare
 *     end of a segment: does the index point to more in it than was found? ─▶ entries without a record: damage
 *
 * It walks the segments and not the index: what the index lacks is what would never be looked at.
 */
import { isKind } from '@cairn/kernel'
import { type Address, addressFromDigest, blake3, equalBytes } from '@cairn/wire'
import type { SegmentChunkStore } from '../chunk/segment-chunk-store.ts'
import type { IndexEntry } from '../index/keydir-core.ts'
import { recordBytes, SEGMENT_HEADER_BYTES } from '../journal/format.ts'
import type { ReplayEvent } from '../journal/journal.ts'
import type { PlacedRecord, Segment } from '../journal/segment.ts'
import { inBatches } from '../object/references.ts'
import { KIND, type RecordStore } from '../record-store.ts'

/** Where a round stands: everything before it was read. */
export interface ScrubCursor {
  readonly segment: number
  readonly offset: number
  /** What the index points to in the part of this segment that was read. */
  readonly liveBytes: number
}

export interface ScrubRange {
  readonly from: ScrubCursor | undefined
  /** What was written after this is for the next round. */
  readonly upToLsn: number
}

export type ScrubFinding =
  | { readonly tag: 'chunk'; readonly id: Address; readonly isSound: boolean }
  | { readonly tag: 'object'; readonly id: Address; readonly isSound: boolean }
  /** The newest record of a hold or of a delete is damaged. */
  | { readonly tag: 'record'; readonly segment: number }
  /** The journal has it, the index had not. */
  | { readonly tag: 'mended' }
  /** A stretch in which no record can be made out. */
  | { readonly tag: 'gap'; readonly segment: number; readonly bytes: number }
  /** Entries of the index that point to nothing. */
  | { readonly tag: 'missing'; readonly segment: number; readonly count: number }

export interface ScrubStep {
  /** Of the file, now read. */
  readonly bytes: number
  readonly records: number
  readonly findings: readonly ScrubFinding[]
  readonly cursor: ScrubCursor
}

type RecordEvent = Extract<ReplayEvent, { tag: 'record' }>
type DamageEvent = Extract<ReplayEvent, { tag: 'damage' }>

export class SegmentScrub {
  readonly #store: RecordStore
  readonly #chunks: SegmentChunkStore

  constructor(store: RecordStore, chunks: SegmentChunkStore) {
    this.#store = store
    this.#chunks = chunks
  }

  /** How much there is to read. */
  get bytes(): number {
    return this.#store.journal.segments().reduce((sum, { end }) => sum + end - SEGMENT_HEADER_BYTES, 0)
  }

  /** Segments of which nothing can be read. */
  get unreadable(): readonly number[] {
    return this.#store.journal.unreadable
  }

  /** Step by step, in order of segments: compaction moves records forwards, to where they are met again. */
  async *read({ from, upToLsn }: ScrubRange): AsyncGenerator<ScrubStep> {
    await this.#store.caughtUp()
    this.#store.mustBeComplete()
    let at = from ?? { segment: 0, offset: 0, liveBytes: 0 }
    for (;;) {
      const segment = this.#next(at, upToLsn)
      if (segment === undefined) return
      if (segment.number !== at.segment) at = { segment: segment.number, offset: SEGMENT_HEADER_BYTES, liveBytes: 0 }
      yield* this.#readSegment(segment, at)
      at = { segment: segment.number + 1, offset: SEGMENT_HEADER_BYTES, liveBytes: 0 }
    }
  }

  #next(at: ScrubCursor, upToLsn: number): Segment | undefined {
    return this.#store.journal
      .segments()
      .filter(({ number, header }) => number >= at.segment && header.firstLsn <= upToLsn)
      .sort((a, b) => a.number - b.number)[0]
  }

  async *#readSegment(segment: Segment, from: ScrubCursor): AsyncGenerator<ScrubStep> {
    const { number } = segment
    let { offset, liveBytes } = from
    try {
      for await (const event of this.#store.journal.replaySegment(segment, offset)) {
        const next = event.tag === 'record' ? event.end.offset : event.gap.to
        const findings = event.tag === 'record' ? await this.#compare(event, segment) : await this.#blame(event)
        if (event.tag === 'record' && this.#isLive(event)) liveBytes += recordBytes(event.payload.length)
        const records = event.tag === 'record' ? 1 : 0
        yield { bytes: next - offset, records, findings, cursor: { segment: number, offset: next, liveBytes } }
        offset = next
      }
    } catch (error) {
      // Compacted away meanwhile: what it held is met again in a later segment.
      if (!isKind(error, 'NotFound')) throw error
      return
    }
    const count = number === this.#store.journal.activeNumber ? 0 : await this.#countMissing(segment, liveBytes)
    if (count === 0) return
    const cursor = { segment: number, offset, liveBytes }
    yield { bytes: 0, records: 0, findings: [{ tag: 'missing', segment: number, count }], cursor }
  }

  #entry({ kind, id }: Pick<PlacedRecord, 'kind' | 'id'>): IndexEntry | undefined {
    return this.#store.index.get(kind, id)
  }

  #isLive(record: PlacedRecord): boolean {
    const entry = this.#entry(record)
    return (
      entry?.lsn === record.lsn &&
      entry.place.segment === record.place.segment &&
      entry.place.offset === record.place.offset
    )
  }

  /** The record is sound by its sums. */
  async #compare(record: RecordEvent, segment: Segment): Promise<ScrubFinding[]> {
    const findings: ScrubFinding[] = []
    if (await this.#isMended(record, segment)) findings.push({ tag: 'mended' })
    if (!this.#isLive(record) || this.#entry(record)?.isTombstone === true) return findings
    const id = addressFromDigest(record.id)
    if (record.kind === KIND.object) findings.push({ tag: 'object', id, isSound: true })
    if (record.kind !== KIND.chunk) return findings
    const isSound = equalBytes(blake3(record.payload), record.id) || (await this.#isSound(id))
    return [...findings, { tag: 'chunk', id, isSound }]
  }

  /** Whether the index had to be put right: the newest that lies in the journal is what it must say. */
  async #isMended(record: RecordEvent, segment: Segment): Promise<boolean> {
    const { index, journal, keeper } = this.#store
    const { kind, id, lsn } = record
    const entry = this.#entry(record)
    if (entry !== undefined && entry.lsn >= lsn) {
      if (journal.holds(entry.place.segment) || journal.unreadable.includes(entry.place.segment)) return false
      await keeper.mend(kind, id)
      return true
    }
    // A compaction that is about to remove the segment has just dropped tombstones in it.
    if (segment.pins.isRetiring || !journal.holds(segment.number)) return false
    keeper.disagreed()
    index.apply(record)
    return true
  }

  /** Finds what a damaged stretch was, and whether it is missed. */
  async #blame({ segment, gap, header }: DamageEvent): Promise<ScrubFinding[]> {
    if (header === undefined) return [{ tag: 'gap', segment, bytes: gap.to - gap.from }]
    const entry = this.#entry(header)
    if (entry !== undefined && entry.lsn > header.lsn) return []
    // A copy with the same LSN may lie elsewhere, and be sound.
    if (entry?.lsn === header.lsn && (entry.place.segment !== segment || entry.place.offset !== gap.from)) return []
    const id = addressFromDigest(header.id)
    if (header.kind === KIND.chunk) return [{ tag: 'chunk', id, isSound: await this.#isSound(id) }]
    if (header.kind === KIND.object && entry?.isTombstone === false) return [{ tag: 'object', id, isSound: false }]
    return [{ tag: 'record', segment }]
  }

  /** Read again by itself, and remembered as damaged if it is: then it can be put again. */
  async #isSound(id: Address): Promise<boolean> {
    try {
      await this.#chunks.inspect(id)
      return true
    } catch (error) {
      if (isKind(error, 'Integrity')) return false
      throw error
    }
  }

  /** Entries that point into this segment where no such record lies; looked for one by one only if the sums differ. */
  async #countMissing({ number, damage }: Segment, foundBytes: number): Promise<number> {
    const { index, journal } = this.#store
    if (index.use(number).liveBytes <= foundBytes) return 0
    let count = 0
    const isHere = ({ place }: IndexEntry): boolean =>
      place.segment === number && !damage.some(({ from, to }) => place.offset >= from && place.offset < to)
    for (const kind of Object.values(KIND)) {
      for (const batch of inBatches(index.live(kind))) {
        for (const { place, lsn } of batch.filter(isHere)) {
          try {
            const header = await journal.readHeader(place)
            if (header.kind !== kind || header.lsn !== lsn) count += 1
          } catch (error) {
            if (isKind(error, 'NotFound')) return count
            if (!isKind(error, 'Integrity')) throw error
            count += 1
          }
        }
      }
    }
    return count
  }
}
