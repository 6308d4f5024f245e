/** Side files on a drive: written whole under another name and renamed, read by `pread` and checked block by block. */
import { CairnError } from '@cairn/kernel'
import type { DiskFile } from '@cairn/platform'
import { compareBytes, equalBytes } from '@cairn/wire'
import type { DriveDirectory } from '../drive/drive.ts'
import { type Crc32, RECORD_ID_BYTES } from '../journal/format.ts'
import { sideName } from '../journal/segment.ts'
import {
  compareEntries,
  ENTRY_BYTES,
  entryLsn,
  LINK_BYTES,
  PackedList,
  type Pause,
  sortedEntries,
  sortedLinks,
  type Unlisted,
} from './entry-lists.ts'
import {
  BLOCK_BYTES,
  BlockSums,
  BlockWriter,
  decodeFoot,
  ENTRIES_PER_BLOCK,
  encodeFoot,
  entryBlocks,
  FOOT_BYTES,
  itemAt,
  linkBlocks,
  type SideFileFoot,
  type SideFileName,
  sideFileBytes,
} from './side-file-core.ts'

/** Blocks read or written at a time. */
const SLAB_BLOCKS = 64
/** Entries merged between two writes. */
const STEP = SLAB_BLOCKS * ENTRIES_PER_BLOCK

/** Items of a sound block: `count` of them from `at` on, one after the other. */
export interface Items {
  readonly bytes: Uint8Array
  readonly at: number
  readonly count: number
}

/** An open side file whose foot is sound. What its blocks say is checked as they are read. */
export class SideFile {
  readonly foot: SideFileFoot
  readonly #directory: DriveDirectory
  readonly #file: DiskFile
  readonly #sums: BlockSums

  private constructor(directory: DriveDirectory, file: DiskFile, foot: SideFileFoot, crc32: Crc32) {
    this.foot = foot
    this.#directory = directory
    this.#file = file
    this.#sums = new BlockSums(crc32, foot)
  }

  /** `NotFound` if there is none, `Integrity` `side_file_damaged` if its foot is not sound. */
  static async open(directory: DriveDirectory, crc32: Crc32, number: number): Promise<SideFile> {
    const file = await directory.open(sideName(number), 'read')
    try {
      const size = await directory.size(file)
      const foot = await readFoot(directory, file, crc32, size)
      if (foot === undefined) throw sideFileDamaged(number)
      return new SideFile(directory, file, foot, crc32)
    } catch (error) {
      await Promise.allSettled([file.close()])
      throw error
    }
  }

  async close(): Promise<void> {
    await Promise.allSettled([this.#file.close()])
  }

  get entryBlocks(): number {
    return entryBlocks(this.foot)
  }

  /** All entries in order, a slab at a time; a slab is valid until the next. `Integrity` at the first block that is not sound. */
  async *entries(): AsyncGenerator<readonly Items[]> {
    yield* this.#slabs('entries', 0, entryBlocks(this.foot))
  }

  async *links(): AsyncGenerator<readonly Items[]> {
    const first = entryBlocks(this.foot)
    yield* this.#slabs('links', first, first + linkBlocks(this.foot))
  }

  /** One block of entries. */
  async entryBlock(number: number): Promise<Items> {
    const block = new Uint8Array(BLOCK_BYTES)
    await this.#read(number, block)
    return this.#checked('entries', block, number)
  }

  async *#slabs(type: 'entries' | 'links', from: number, to: number): AsyncGenerator<readonly Items[]> {
    const buffer = new Uint8Array(Math.min(SLAB_BLOCKS, Math.max(0, to - from)) * BLOCK_BYTES)
    for (let number = from; number < to; number += SLAB_BLOCKS) {
      const count = Math.min(SLAB_BLOCKS, to - number)
      const slab = buffer.subarray(0, count * BLOCK_BYTES)
      await this.#read(number, slab)
      yield Array.from({ length: count }, (_, at) => {
        return this.#checked(type, slab.subarray(at * BLOCK_BYTES, (at + 1) * BLOCK_BYTES), number + at)
      })
    }
  }

  async #read(number: number, into: Uint8Array): Promise<void> {
    const filled = await this.#directory.read(this.#file, number * BLOCK_BYTES, into)
    if (filled !== into.length) throw sideFileDamaged(this.foot.number)
  }

  #checked(type: 'entries' | 'links', block: Uint8Array, number: number): Items {
    const count = this.#sums.check(block, type, number)
    if (count === undefined) throw sideFileDamaged(this.foot.number)
    return { bytes: block, at: itemAt(type, 0), count }
  }
}

async function readFoot(
  directory: DriveDirectory,
  file: DiskFile,
  crc32: Crc32,
  size: number,
): Promise<SideFileFoot | undefined> {
  if (size < FOOT_BYTES) return undefined
  const bytes = new Uint8Array(FOOT_BYTES)
  const filled = await directory.read(file, size - FOOT_BYTES, bytes)
  return filled === FOOT_BYTES ? decodeFoot(crc32, bytes, size) : undefined
}

export interface SideFileInput {
  readonly name: SideFileName
  /** The side file the new one takes the place of; it covers up to where the list begins. */
  readonly older: SideFile | undefined
  readonly list: Unlisted
}

export interface SideFileOutput {
  readonly directory: DriveDirectory
  readonly crc32: Crc32
  readonly pause: Pause
}

/** Writes the side file of a segment. What the list has by now is in it; what comes meanwhile is not. */
export async function writeSideFile(input: SideFileInput, output: SideFileOutput): Promise<SideFileFoot> {
  const { name, list, older } = input
  const { directory, crc32, pause } = output
  const merge = new Merge(crc32, name, list, older)
  await directory.replace(sideName(name.number), merge.pieces(pause))
  return merge.foot
}

/** About how many bytes that will take, at most. */
export function expectedBytes(list: Unlisted, older: SideFile | undefined): number {
  const { entries, links } = older?.foot ?? { entries: 0, links: 0 }
  return sideFileBytes({ entries: entries + list.entries.count, links: links + list.links.count })
}

/** The entries of an older side file and of a list, as the blocks of a new one. */
class Merge {
  readonly #crc32: Crc32
  readonly #name: SideFileName
  readonly #older: SideFile | undefined
  readonly #entries: Uint8Array
  readonly #links: Uint8Array
  readonly #last: SideFileFoot['last']
  readonly #writer: BlockWriter
  readonly #sums: BlockSums
  /** The entry that was written last. */
  #previous: { readonly bytes: Uint8Array; readonly at: number } | undefined
  #lowestLsn = Number.MAX_SAFE_INTEGER
  #highestLsn = 0
  #linkCount = 0

  constructor(crc32: Crc32, name: SideFileName, list: Unlisted, older: SideFile | undefined) {
    this.#crc32 = crc32
    this.#name = name
    this.#older = older
    // What is added to the list later lies beyond these.
    this.#entries = list.entries.bytes
    this.#links = list.links.bytes
    this.#last = list.entries.count === 0 && older !== undefined ? older.foot.last : list.last
    this.#sums = new BlockSums(crc32, name)
    this.#writer = new BlockWriter(this.#sums, 'entries', 0)
  }

  get foot(): SideFileFoot {
    return {
      ...this.#name,
      entries: this.#writer.items,
      links: this.#linkCount,
      lowestLsn: this.#writer.items === 0 ? 0 : this.#lowestLsn,
      highestLsn: this.#highestLsn,
      last: this.#last,
    }
  }

  async *pieces(pause: Pause): AsyncGenerator<readonly Uint8Array[]> {
    const order = await sortedEntries(this.#entries, pause)
    let next = 0
    for await (const slab of this.#older?.entries() ?? []) {
      // A slab is only valid until the next, and the entry written last is compared with later ones.
      for (const { bytes: block, at, count } of slab.map((each) => ({ ...each, bytes: each.bytes.slice() }))) {
        for (let item = at; item < at + count * ENTRY_BYTES; item += ENTRY_BYTES) {
          next = this.#addUpTo(order, next, block, item)
          this.#add(block, item)
        }
      }
      yield this.#writer.take()
    }
    while (next < order.length) {
      const to = Math.min(order.length, next + STEP)
      for (; next < to; next += 1) this.#add(this.#entries, order[next] ?? 0)
      yield this.#writer.take()
    }
    yield this.#writer.take(true)
    yield await this.#linkBlocks()
    yield [encodeFoot(this.#crc32, this.foot)]
  }

  /** Those of the list that come before this entry, or are a newer record of its id. */
  #addUpTo(order: Uint32Array, from: number, bytes: Uint8Array, at: number): number {
    let next = from
    for (; next < order.length; next += 1) {
      const mine = order[next] ?? 0
      const compared = compareEntries(this.#entries, mine, bytes, at)
      if (compared > 0 || (compared === 0 && entryLsn(this.#entries, mine) < entryLsn(bytes, at))) break
      this.#add(this.#entries, mine)
    }
    return next
  }

  /** The first of an id is the newest; others are left out. */
  #add(bytes: Uint8Array, at: number): void {
    const lsn = entryLsn(bytes, at)
    this.#lowestLsn = Math.min(this.#lowestLsn, lsn)
    this.#highestLsn = Math.max(this.#highestLsn, lsn)
    const previous = this.#previous
    if (previous !== undefined && compareEntries(previous.bytes, previous.at, bytes, at) === 0) return
    this.#previous = { bytes, at }
    this.#writer.add(bytes, at)
  }

  async #linkBlocks(): Promise<Uint8Array[]> {
    const all = new PackedList(LINK_BYTES)
    const take = (bytes: Uint8Array, from: number, to: number): void => {
      for (let at = from; at < to; at += LINK_BYTES) {
        const link = all.add()
        link.bytes.set(bytes.subarray(at, at + LINK_BYTES), link.at)
      }
    }
    for await (const slab of this.#older?.links() ?? []) {
      for (const { bytes, at, count } of slab) take(bytes, at, at + count * LINK_BYTES)
    }
    take(this.#links, 0, this.#links.length)
    const writer = new BlockWriter(this.#sums, 'links', this.#writer.nextNumber)
    let previous: Uint8Array | undefined
    for (const at of sortedLinks(all.bytes)) {
      const hold = all.bytes.subarray(at, at + RECORD_ID_BYTES)
      if (previous === undefined || compareBytes(previous, hold) !== 0) writer.add(all.bytes, at)
      previous = hold
    }
    this.#linkCount = writer.items
    return writer.take(true)
  }
}

/** Whether the foot speaks of this segment of this store. */
export function isOf(foot: SideFileFoot, header: Pick<SideFileName, 'store' | 'salt' | 'number'>): boolean {
  return foot.number === header.number && equalBytes(foot.salt, header.salt) && equalBytes(foot.store, header.store)
}

/** Not only of the same segment, but the very same. */
export function isSameSideFile(a: SideFileFoot, b: SideFileFoot): boolean {
  return equalBytes(a.nonce, b.nonce) && a.coveredEnd === b.coveredEnd
}

export function sideFileDamaged(number: number): CairnError {
  const detail = `The side file of segment ${number} is damaged; the segment is read instead.`
  return new CairnError('Integrity', detail, { code: 'side_file_damaged', cause: number })
}

/** Which segment's side file an error is about. */
export function damagedSegment(error: unknown): number | undefined {
  const isAbout = error instanceof CairnError && error.code === 'side_file_damaged'
  return isAbout && typeof error.cause === 'number' ? error.cause : undefined
}
