/**
 * Fills the index at a start.
 *
 *     feet of all side files ─▶ what they do not cover of the newest segment ─▶ side files, newest LSN first,
 *                                                                                and scans of segments without one
 *
 * What was read last to be read has the lowest LSNs: as it goes on, more and more of what is found is an answer.
 */
import { isKind, toCairnError } from '@cairn/kernel'
import { equalBytes } from '@cairn/wire'
import type { StoreMachine } from '../drive/drive.ts'
import { alignUp, RECORD_HEADER_BYTES, type RecordHeader, SEGMENT_HEADER_BYTES, TOMBSTONE } from '../journal/format.ts'
import type { Journal } from '../journal/journal.ts'
import { type Draft, type PlacedRecord, type Segment, sideName, sideNumber } from '../journal/segment.ts'
import { createUnlisted, ENTRY_BYTES, LINK_BYTES, noteRecord, type Unlisted } from './entry-lists.ts'
import type { RecordIndex } from './record-index.ts'
import type { SegmentLists } from './segment-lists.ts'
import { isOf, SideFile, sideFileDamaged } from './side-file.ts'
import type { SideFileFoot } from './side-file-core.ts'

/** A segment is known from its side file, or was read: for want of one, or because it was damaged or out of place. */
export type Learnt = 'side_file' | 'scan_missing' | 'scan_damaged'

export interface LoaderParts {
  readonly machine: StoreMachine
  readonly journal: Journal
  readonly index: RecordIndex
  readonly lists: SegmentLists
  readonly holdKind: number
  /** The object a hold is on; `undefined` if its payload does not say. */
  readonly heldBy: (record: Draft) => Uint8Array | undefined
  readonly onLearnt?: ((how: Learnt) => void) | undefined
}

/** Of a segment read in one step: with the smallest records a few thousand of them. */
const WINDOW_BYTES = 256 * 1024

/** How a start, or what came after, got to know the segments. */
export interface LoadFacts {
  readonly segments: number
  readonly sideFiles: number
  /** Segments that were read in whole, because they had no side file … */
  readonly scannedMissing: number
  /** … or one that was damaged, or another segment's, or of another time. */
  readonly scannedDamaged: number
  /** Holds whose object cannot be told: their record is damaged. */
  readonly unknownHolds: number
}

interface SegmentSource {
  readonly number: number
  /** Absent when the segment cannot be read, or is gone, and only its side file says what it held. */
  readonly segment: Segment | undefined
  /** Nothing in it has a higher LSN. */
  readonly highestLsn: number
  readonly side: SideFileFoot | undefined
  readonly scanFrom: number
}

export class IndexLoader {
  readonly #parts: LoaderParts
  /** The highest first. */
  #sources: SegmentSource[] = []
  #lost: number[] = []
  readonly #counts = { segments: 0, sideFiles: 0, scannedMissing: 0, scannedDamaged: 0, unknownHolds: 0 }

  constructor(parts: LoaderParts) {
    this.#parts = parts
  }

  get facts(): LoadFacts {
    return { ...this.#counts }
  }

  /** What is still to be read: bytes of segments, and entries of side files. */
  get toDo(): { readonly scanBytes: number; readonly entries: number } {
    let scanBytes = 0
    let entries = 0
    for (const { segment, side, scanFrom } of this.#sources) {
      if (side === undefined) scanBytes += (segment?.end ?? scanFrom) - scanFrom
      else entries += side.entries
    }
    return { scanBytes, entries }
  }

  /** Looks at every side file's foot, and reads what none covers of the newest segment: from then on records may come. */
  async begin(): Promise<void> {
    const { journal, index, lists } = this.#parts
    const segments = journal.segments()
    this.#counts.segments = segments.length
    for (const segment of segments) {
      const { number } = segment
      const foot = await this.#footOf(segment)
      const scanFrom = foot?.coveredEnd ?? SEGMENT_HEADER_BYTES
      if (foot !== undefined) {
        lists.found(foot)
        this.#sources.push({ number, segment, side: foot, scanFrom, highestLsn: foot.highestLsn })
      }
      if (scanFrom < segment.end) {
        const highestLsn = this.#boundOf(segment, segments)
        this.#sources.push({ number, segment, side: undefined, scanFrom, highestLsn })
      }
    }
    await this.#findLost()
    index.expect(this.toDo.entries)
    this.#sources.sort((a, b) => b.highestLsn - a.highestLsn)
    const isNewest = ({ number, side }: SegmentSource): boolean => side === undefined && number === journal.activeNumber
    const newest = this.#sources.find(isNewest)
    this.#sources = this.#sources.filter((source) => !isNewest(source))
    if (newest !== undefined) await this.#scan(newest)
    this.#sayHowFar()
  }

  /** Reads the rest. Ends early, with the index incomplete, once the signal is aborted. */
  async finish(signal: AbortSignal): Promise<void> {
    for (;;) {
      const source = this.#sources[0]
      if (source === undefined) break
      if (source.side === undefined) await this.#scan(source, signal)
      else await this.#read(source, signal)
      if (signal.aborted) return
      this.#sources.shift()
      this.#sayHowFar()
    }
    this.#parts.index.readDownTo(0)
    await this.#judgeLost()
  }

  /** Segments that are gone, and held what nothing else has. */
  get lost(): readonly number[] {
    return this.#lost
  }

  /** Side files without a segment that can be read: what they list is not there, and is known to have been. */
  async #findLost(): Promise<void> {
    const { journal, machine } = this.#parts
    for (const { name } of await journal.directory.list()) {
      const number = sideNumber(name)
      if (number === undefined || journal.holds(number)) continue
      try {
        const file = await SideFile.open(journal.directory, machine.crypto.crc32, number)
        await file.close()
        const { foot } = file
        if (foot.number !== number || !equalBytes(foot.store, journal.storeId)) continue
        this.#lost.push(number)
        this.#sources.push({ number, segment: undefined, side: foot, scanFrom: 0, highestLsn: foot.highestLsn })
      } catch (error) {
        const { message } = toCairnError(error)
        machine.log.warn({ segment: number, why: message }, 'a segment is gone, and so is what it held')
      }
    }
  }

  /** A side file goes before its segment does, so that one alone says that its segment was lost, and not removed. */
  async #judgeLost(): Promise<void> {
    const { journal, index, machine } = this.#parts
    const gone = this.#lost.filter((number) => !journal.unreadable.includes(number))
    this.#lost = []
    for (const number of gone) {
      const { liveBytes } = index.use(number)
      if (liveBytes > 0) {
        this.#lost.push(number)
        machine.log.error({ segment: number, bytes: liveBytes }, 'a segment of the journal is gone, with what it held')
      } else await Promise.allSettled([journal.directory.unlinkIfThere(sideName(number))])
    }
  }

  /** Reads a segment again, in whole, and knows it from that: its side file turned out wrong. */
  async rescan(segment: Segment, signal?: AbortSignal): Promise<void> {
    this.#learnt('scan_damaged')
    const { number } = segment
    await this.#scan({ number, segment, side: undefined, scanFrom: SEGMENT_HEADER_BYTES, highestLsn: 0 }, signal)
  }

  #sayHowFar(): void {
    const [next] = this.#sources
    // Even of an empty segment it is not known that it is empty before it was looked at.
    this.#parts.index.readDownTo(next === undefined ? 0 : Math.max(1, next.highestLsn))
  }

  /** The next log segment says where this one's LSNs end; of a compacted one only that it is older than the start. */
  #boundOf({ number, role }: Segment, segments: readonly Segment[]): number {
    const later = segments
      .filter((each) => each.role === 'log' && each.number > number)
      .map(({ header }) => header.firstLsn)
    return role === 'log' && later.length > 0 ? Math.min(...later) - 1 : this.#parts.journal.syncedLsn
  }

  async #footOf(segment: Segment): Promise<SideFileFoot | undefined> {
    const { journal, machine } = this.#parts
    try {
      const file = await SideFile.open(journal.directory, machine.crypto.crc32, segment.number)
      await file.close()
      if (await this.#isBelieved(file.foot, segment)) return file.foot
      this.#distrust(segment.number, sideFileDamaged(segment.number))
    } catch (error) {
      if (isKind(error, 'NotFound')) {
        if (segment.end > SEGMENT_HEADER_BYTES) this.#learnt('scan_missing')
      } else this.#distrust(segment.number, error)
    }
    return undefined
  }

  async #isBelieved(foot: SideFileFoot, segment: Segment): Promise<boolean> {
    if (!isOf(foot, segment.header) || foot.coveredEnd > segment.end) return false
    if (foot.entries === 0) return foot.coveredEnd === SEGMENT_HEADER_BYTES
    const { offset, length, lsn } = foot.last
    if (alignUp(offset + RECORD_HEADER_BYTES + length) !== foot.coveredEnd) return false
    try {
      const header = await this.#parts.journal.readHeader({ segment: segment.number, offset, length })
      return header.lsn === lsn
    } catch (error) {
      if (isKind(error, 'Integrity')) return false
      throw error
    }
  }

  async #read(source: SegmentSource, signal: AbortSignal): Promise<void> {
    const { journal, machine, index } = this.#parts
    const { number } = source
    try {
      const file = await SideFile.open(journal.directory, machine.crypto.crc32, number)
      try {
        for await (const slab of file.entries()) {
          if (signal.aborted) return
          for (const { bytes, at, count } of slab) {
            for (let item = at; item < at + count * ENTRY_BYTES; item += ENTRY_BYTES)
              index.applyListed(bytes, item, number)
          }
        }
        for await (const slab of file.links()) {
          for (const { bytes, at, count } of slab) {
            for (let item = at; item < at + count * LINK_BYTES; item += LINK_BYTES) index.applyLink(bytes, item)
          }
        }
      } finally {
        await file.close()
      }
      this.#learnt('side_file')
    } catch (error) {
      this.#distrust(number, error)
      await this.#scan({ ...source, side: undefined, scanFrom: SEGMENT_HEADER_BYTES }, signal)
    }
  }

  async #scan({ segment, scanFrom }: SegmentSource, signal?: AbortSignal): Promise<void> {
    const { journal, index, lists } = this.#parts
    const list = createUnlisted(scanFrom)
    if (segment === undefined) return
    const { end } = segment
    for await (const events of journal.replayTogether(segment, scanFrom, WINDOW_BYTES)) {
      if (signal?.aborted === true) return
      for (const event of events) {
        if (event.tag === 'record') {
          index.apply(event)
          noteRecord(list, event, this.#objectOf(event))
        } else if (event.header !== undefined) this.#takeDamaged(event.header, segment.number, event.gap.from, list)
      }
    }
    list.end = Math.max(list.end, end)
    lists.scanned(segment.number, list)
  }

  /** Its payload is damaged, and it is still the newest of its id: an older record must not take its place. */
  #takeDamaged(header: RecordHeader, segment: number, offset: number, list: Unlisted): void {
    const { length, flags } = header
    const place = { segment, offset, length }
    const isTombstone = (flags & TOMBSTONE) !== 0
    this.#parts.index.applyEntry({ ...header, place, isTombstone })
    noteRecord(list, { ...header, place }, undefined)
    if (header.kind === this.#parts.holdKind && !isTombstone) this.#counts.unknownHolds += 1
  }

  #objectOf(record: PlacedRecord): Uint8Array | undefined {
    if ((record.flags & TOMBSTONE) !== 0 || record.kind !== this.#parts.holdKind) return undefined
    const object = this.#parts.heldBy(record)
    if (object === undefined) this.#counts.unknownHolds += 1
    return object
  }

  #learnt(how: Learnt): void {
    const count = { side_file: 'sideFiles', scan_missing: 'scannedMissing', scan_damaged: 'scannedDamaged' } as const
    this.#counts[count[how]] += 1
    this.#parts.onLearnt?.(how)
  }

  #distrust(segment: number, error: unknown): void {
    this.#learnt('scan_damaged')
    const { message } = toCairnError(error)
    this.#parts.machine.log.warn({ segment, why: message }, 'a side file of the index is not used; its segment is read')
  }
}
