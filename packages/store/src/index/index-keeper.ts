/**
 * Keeps the index in step with the journal: fills it at a start, takes in what becomes durable, has side files written,
 * and lists ids in order.
 *
 *     start: loader ─▶ index ◀─ note ◀─ journal                  list: side files and lists, merged ─▶ index: still there?
 *                        └─ lists of ids, by segment ─▶ side file writer
 */
import { isKind, sleep } from '@cairn/kernel'
import { RECORD_ID_BYTES, TOMBSTONE } from '../journal/format.ts'
import { type PlacedRecord, type Segment, sideName } from '../journal/segment.ts'
import { segmentGone } from '../journal/segment-files.ts'
import {
  type EntryCursor,
  ListCursor,
  listedAt,
  mergeCursors,
  SideFileCursor,
  type StartKey,
  sortList,
  startKey,
} from './entry-cursor.ts'
import { compareAt } from './entry-lists.ts'
import { IndexLoader, type LoaderParts, type LoadFacts } from './index-loader.ts'
import type { IndexEntry } from './keydir-core.ts'
import { SegmentLists } from './segment-lists.ts'
import { damagedSegment, isOf, isSameSideFile, SideFile, sideFileDamaged } from './side-file.ts'
import type { SideFileFoot } from './side-file-core.ts'
import { SideFileWriter } from './side-file-writer.ts'

/** More than this is read while the store already serves. */
const WAIT_ENTRIES_MAX = 1_000_000
/** Segments come and go while a page is read. */
const LOOKS_MAX = 4

/** A record of the index and its id. */
export interface ListedRecord {
  readonly id: Uint8Array
  readonly entry: IndexEntry
}

export interface IndexFacts extends LoadFacts {
  /** How often the index was found to disagree with the journal, and put right. */
  readonly mended: number
}

export interface IndexKeeperOptions extends Omit<LoaderParts, 'lists'> {
  readonly reserveBytes: number
}

export class IndexKeeper {
  readonly #parts: LoaderParts
  readonly #lists = new SegmentLists()
  readonly #loader: IndexLoader
  readonly #writer: SideFileWriter
  #mended = 0

  constructor(options: IndexKeeperOptions) {
    this.#parts = { ...options, lists: this.#lists }
    this.#loader = new IndexLoader(this.#parts)
    const rescan = async (segment: Segment): Promise<void> => await this.#loader.rescan(segment)
    this.#writer = new SideFileWriter({ ...options, lists: this.#lists, rescan })
  }

  get facts(): IndexFacts {
    return { ...this.#loader.facts, mended: this.#mended }
  }

  /** Segments that are gone, and held what nothing else has. */
  get lost(): readonly number[] {
    return this.#loader.lost
  }

  /** Whether this segment cannot be read at all, or is gone, and still counts. */
  isLost(number: number): boolean {
    return this.#parts.journal.unreadable.includes(number) || this.lost.includes(number)
  }

  /**
   * Before a segment is removed its side file goes: one alone tells of a loss. A power cut may bring it back; then all it
   * lists is superseded still, since no tombstone goes before the names are synced.
   */
  async leave(number: number): Promise<void> {
    await this.#writer.leave(number)
    await this.#parts.journal.directory.unlinkIfThere(sideName(number))
  }

  /** Before any record is written. Says whether the rest is so little that it is worth waiting for. */
  async begin(): Promise<boolean> {
    await this.#loader.begin()
    const { scanBytes, entries } = this.#loader.toDo
    return scanBytes <= this.#parts.journal.segmentBytes && entries <= WAIT_ENTRIES_MAX
  }

  async load(signal: AbortSignal): Promise<void> {
    await this.#loader.finish(signal)
    this.#writer.kick()
  }

  /** What has just become durable. */
  note(records: readonly PlacedRecord[]): void {
    for (const record of records) {
      this.#parts.index.applyNewest(record)
      this.#list(record)
    }
    const [first] = records
    if (first !== undefined) this.#writer.grew(first.place.segment)
  }

  /** A record that a compaction copies; the index will point to it if it still points to the original then. */
  noteCopy(record: PlacedRecord): void {
    this.#list(record)
  }

  /** A segment takes no more. */
  sealed(): void {
    this.#writer.kick()
  }

  /** The segment is gone. */
  forgetSegment(number: number): void {
    this.#lists.forget(number)
    this.#writer.returned(number)
    this.#parts.index.forgetSegment(number)
  }

  /** Records of a kind in order of id, after the one given, tombstones among them. The index is complete. */
  async list(kind: number, after: Uint8Array | undefined, limit: number): Promise<ListedRecord[]> {
    const start = startKey(kind, after)
    for (let look = 1; ; look += 1) {
      try {
        return await this.#page(kind, start, limit)
      } catch (error) {
        const isPassing = isKind(error, 'NotFound') || (await this.#remake(error))
        if (!isPassing || look === LOOKS_MAX) throw error
      }
    }
  }

  /** The index had no answer, or an older one, about a record that is there. */
  disagreed(): void {
    this.#mended += 1
  }

  /**
   * What the index says of this id is not what lies in the journal. Where it points to is read again, and if there is no
   * such record, the entry goes and the newest that can be found takes its place. If just that place is damaged the
   * entry stays: an older record must not come back.
   */
  async mend(kind: number, id: Uint8Array): Promise<void> {
    const { journal, index, machine } = this.#parts
    const entry = index.get(kind, id)
    if (entry === undefined || (await this.#isThere(kind, id, entry))) return
    const { place, lsn } = entry
    const segment = journal.segments().find(({ number }) => number === place.segment)
    // What a lost segment held is not to be found, and is not to be forgotten.
    if (segment === undefined ? this.isLost(place.segment) : isDamagedAt(segment, place.offset)) return
    machine.log.warn({ segment: place.segment, lsn }, 'the index disagrees with the journal; the segment is read again')
    this.disagreed()
    if (segment !== undefined) {
      await this.#loader.rescan(segment)
      this.#writer.kick()
      if (isDamagedAt(segment, place.offset)) return
    }
    if (await this.#isThere(kind, id, entry)) return
    index.forget(kind, id, place)
    await this.#findNewest(kind, id)
  }

  /** The index knew of no record of this id, or of an older one: the newest that can be found takes its place. */
  async recall(record: PlacedRecord): Promise<void> {
    this.disagreed()
    this.#parts.index.apply(record)
    await this.#findNewest(record.kind, record.id)
  }

  async #findNewest(kind: number, id: Uint8Array): Promise<void> {
    for (const { number } of this.#parts.journal.segments()) {
      try {
        await this.#findIn(number, kind, id)
      } catch (error) {
        // A segment whose side file is damaged is read again, and what it holds is then in the index.
        if (!isKind(error, 'NotFound') && !(await this.#remake(error))) throw error
      }
    }
  }

  /** Takes in what lists say of an id, if it lies there. */
  async #findIn(number: number, kind: number, id: Uint8Array): Promise<void> {
    const { index } = this.#parts
    const files: SideFile[] = []
    try {
      const start = { ...startKey(kind, id), isIncluded: true }
      for (const { entry } of await this.#cursorsOf(number, kind, start, files)) {
        if (entry === undefined || compareAt(entry.bytes, entry.at, id, 0, RECORD_ID_BYTES) !== 0) continue
        const listed = listedAt(entry.bytes, entry.at, number)
        if (await this.#isThere(kind, id, listed)) index.applyEntry({ kind, id, ...listed })
      }
    } finally {
      for (const file of files) await file.close()
    }
  }

  async #isThere(kind: number, id: Uint8Array, { place, lsn }: IndexEntry): Promise<boolean> {
    try {
      const header = await this.#parts.journal.readHeader(place)
      return header.kind === kind && header.lsn === lsn && compareAt(header.id, 0, id, 0, RECORD_ID_BYTES) === 0
    } catch (error) {
      if (isKind(error, 'Integrity') || isKind(error, 'NotFound')) return false
      throw error
    }
  }

  /** Resolves when every side file that can be written is. */
  async settled(): Promise<void> {
    await this.#writer.settled()
  }

  /** Writes what the next start would otherwise have to read. */
  async close(): Promise<void> {
    await this.#writer.close()
  }

  async #page(kind: number, start: StartKey, limit: number): Promise<ListedRecord[]> {
    const files: SideFile[] = []
    try {
      const found: ListedRecord[] = []
      for await (const id of mergeCursors(await this.#cursors(kind, start, files))) {
        const entry = this.#parts.index.get(kind, id)
        if (entry !== undefined) found.push({ id, entry })
        if (found.length === limit) break
      }
      return found
    } finally {
      for (const file of files) await file.close()
    }
  }

  async #cursors(kind: number, start: StartKey, files: SideFile[]): Promise<EntryCursor[]> {
    const cursors: EntryCursor[] = []
    for (const { number } of this.#parts.journal.segments()) {
      cursors.push(...(await this.#cursorsOf(number, kind, start, files)))
    }
    return cursors
  }

  async #cursorsOf(number: number, kind: number, start: StartKey, files: SideFile[]): Promise<EntryCursor[]> {
    const { machine } = this.#parts
    const cursors: EntryCursor[] = []
    const list = this.#lists.unlisted(number)
    const side = this.#lists.side(number)
    if (list !== undefined && list.entries.count > 0) {
      const sorted = await sortList(list, async () => await sleep(machine.clock, 0))
      cursors.push(ListCursor.at(sorted, kind, start))
    }
    if (side !== undefined) {
      const file = await this.#openSide(side)
      files.push(file)
      if (!isSameSideFile(file.foot, side)) {
        // A newer one has just taken its place; anything else may know less than the one that is known.
        const isNewer = isOf(file.foot, side) && file.foot.coveredEnd > side.coveredEnd
        throw isNewer ? segmentGone(number) : sideFileDamaged(number)
      }
      cursors.push(await SideFileCursor.at(file, kind, start))
    }
    return cursors
  }

  async #openSide(side: SideFileFoot): Promise<SideFile> {
    const { journal, machine } = this.#parts
    try {
      return await SideFile.open(journal.directory, machine.crypto.crc32, side.number)
    } catch (error) {
      const isGone = isKind(error, 'NotFound') && this.#lists.side(side.number) === side
      throw isGone ? sideFileDamaged(side.number) : error
    }
  }

  /** A side file that turned out damaged is made anew from its segment. */
  async #remake(error: unknown): Promise<boolean> {
    const number = damagedSegment(error)
    const segment = this.#parts.journal.segments().find((each) => each.number === number)
    if (segment === undefined) return false
    await this.#loader.rescan(segment)
    this.#writer.kick()
    return true
  }

  #list(record: PlacedRecord): void {
    const { holdKind, heldBy } = this.#parts
    const isHold = record.kind === holdKind && (record.flags & TOMBSTONE) === 0
    this.#lists.note(record.place.segment, record, isHold ? heldBy(record) : undefined)
  }
}

function isDamagedAt({ damage }: Segment, offset: number): boolean {
  return damage.some(({ from, to }) => from <= offset && offset < to)
}
