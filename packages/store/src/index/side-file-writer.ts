/**
 * Writes side files in the background: of segments that take no more, and of the newest one when much was added to it.
 *
 * They only save the next start some reading. So nothing waits for them, their errors fail no caller, and what a full
 * disk or a drive in trouble refuses is tried again later.
 */
import { isKind, sleep, type Timer, toCairnError } from '@cairn/kernel'
import type { StoreMachine } from '../drive/drive.ts'
import { SEGMENT_HEADER_BYTES } from '../journal/format.ts'
import type { Journal } from '../journal/journal.ts'
import { type Segment, sideName } from '../journal/segment.ts'
import type { SegmentLists } from './segment-lists.ts'
import { damagedSegment, expectedBytes, isSameSideFile, SideFile, sideFileDamaged, writeSideFile } from './side-file.ts'

/** Of the newest segment so many entries are kept in memory, or half of what its side file has, before it is written anew. */
const UNLISTED_MAX = 128 * 1024
const RETRY_MS = 60_000

export interface SideFileWriterParts {
  readonly machine: StoreMachine
  readonly journal: Journal
  readonly lists: SegmentLists
  /** Kept free for tombstones and compaction: side files leave it alone. */
  readonly reserveBytes: number
  /** Reads a segment again, in whole. */
  readonly rescan: (segment: Segment) => Promise<void>
}

export class SideFileWriter {
  readonly #parts: SideFileWriterParts
  #running: Promise<void> | undefined
  #retry: Timer | undefined
  readonly #left = new Set<number>()
  #isClosed = false
  /** Newest segment included. */
  #isLast = false

  constructor(parts: SideFileWriterParts) {
    this.#parts = parts
  }

  /** Something may have to be written. */
  kick(): void {
    if (this.#isClosed || this.#running !== undefined || this.#retry !== undefined || this.#next() === undefined) return
    this.#running = this.#run()
  }

  /** The newest segment has more than before. */
  grew(number: number): void {
    if ((this.#parts.lists.unlisted(number)?.entries.count ?? 0) > UNLISTED_MAX) this.kick()
  }

  /** The segment is about to go: nothing is written about it any more, and what is under way ends first. */
  async leave(number: number): Promise<void> {
    this.#left.add(number)
    await this.#running
  }

  /** It went, or stays after all. */
  returned(number: number): void {
    this.#left.delete(number)
  }

  /** Resolves when everything that can be written is. */
  async settled(): Promise<void> {
    await this.#running
  }

  /** Writes what is left, the newest segment's too, and no more after that. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#retry?.cancel()
    this.#retry = undefined
    await this.#running
    this.#isLast = true
    await this.#run()
  }

  async #run(): Promise<void> {
    try {
      for (let segment = this.#next(); segment !== undefined; segment = this.#next()) await this.#writeOrMend(segment)
    } catch (error) {
      const { message } = toCairnError(error)
      this.#parts.machine.log.warn(
        { why: message },
        'a side file of the index was not written; it is tried again later',
      )
      if (!this.#isClosed) this.#retry = this.#parts.machine.clock.timer(RETRY_MS, () => this.#again())
    } finally {
      this.#running = undefined
    }
  }

  /** An older side file that is damaged or gone is made anew from its segment. */
  async #writeOrMend(segment: Segment): Promise<void> {
    try {
      await this.#write(segment)
    } catch (error) {
      if (this.#parts.lists.side(segment.number) === undefined) throw error
      if (damagedSegment(error) === undefined && !isKind(error, 'NotFound')) throw error
      await this.#parts.rescan(segment)
    }
  }

  #again(): void {
    this.#retry = undefined
    this.kick()
  }

  #next(): Segment | undefined {
    return this.#parts.journal.segments().find((segment) => this.#isDue(segment))
  }

  #isDue(segment: Segment): boolean {
    const { journal, lists } = this.#parts
    const list = lists.unlisted(segment.number)
    // A damaged segment is read at every start, so that every start says so.
    if (list === undefined || segment.damage.length > 0 || this.#left.has(segment.number)) return false
    const side = lists.side(segment.number)
    if (list.from !== (side?.coveredEnd ?? SEGMENT_HEADER_BYTES)) return false
    const isSealed = segment.number !== journal.activeNumber
    const most = isSealed || this.#isLast ? 0 : Math.max(UNLISTED_MAX, (side?.entries ?? 0) / 2)
    return list.entries.count > most
  }

  async #write(segment: Segment): Promise<void> {
    const { machine, journal, lists } = this.#parts
    const { directory } = journal
    const { number, header } = segment
    const list = lists.unlisted(number)
    if (list === undefined) return
    const { crc32 } = machine.crypto
    const older = await this.#older(number)
    try {
      await this.#mustHaveRoom(expectedBytes(list, older))
      // From here to the first pause in one step: what is appended meanwhile is the next one's.
      const [entries, links] = [list.entries.count, list.links.count]
      const input = { name: { ...header, coveredEnd: list.end, nonce: machine.random.bytes(16) }, list, older }
      const foot = await writeSideFile(input, {
        directory,
        crc32,
        pause: async () => await sleep(machine.clock, 0),
      })
      if (journal.holds(number)) lists.written(foot, list, entries, links, number !== journal.activeNumber)
      else await directory.unlinkIfThere(sideName(number))
    } finally {
      await older?.close()
    }
  }

  async #older(number: number): Promise<SideFile | undefined> {
    const { journal, machine, lists } = this.#parts
    const known = lists.side(number)
    if (known === undefined) return undefined
    const file = await SideFile.open(journal.directory, machine.crypto.crc32, number)
    if (isSameSideFile(file.foot, known)) return file
    await file.close()
    throw sideFileDamaged(number)
  }

  async #mustHaveRoom(bytes: number): Promise<void> {
    const { journal, reserveBytes } = this.#parts
    const { freeBytes } = await journal.directory.space()
    // What the reserve holds is not free any more; what it lacks has to stay so.
    const kept = Math.max(0, reserveBytes - journal.reserve.heldBytes)
    if (freeBytes - bytes < kept) throw new Error('The disk is full but for the reserve.')
  }
}
