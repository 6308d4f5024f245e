/**
 * The bytes of a side file, `N.idx`: what segment N holds, sorted, so that a start need not read the segment.
 *
 *     │ block 4 KiB │ block │ … │ block of links │ … │ foot 128 │
 *        │
 *        └ sum 4 │ number 4 │ items 2 │ type 1 │ zero 5 │ entries of 52 bytes by (kind, id), or links of 64 bytes by hold
 *
 * A side file is a copy that may be lost, cut, rotten, out of date or another segment's at any time. It is believed only
 * if its foot agrees with the segment, and block by block: each sum begins with what the foot says the file is, its
 * segment's salt and a random number of its own among that, so a block of any other file, or of another version of this
 * one, has another sum.
 */
import { type Crc32, getInteger, type SegmentRole, setInteger, viewOf } from '../journal/format.ts'
import { ENTRY_BYTES, LINK_BYTES } from './entry-lists.ts'

export const BLOCK_BYTES = 4096
export const FOOT_BYTES = 128
const MAGIC = new TextEncoder().encode('cairnidx')
const FORMAT = 1
/** Of a store, a salt and a nonce. */
const ID_BYTES = 16
const ITEMS_AT = 16
const COUNT_AT = 8
const TYPE_AT = 10
const FOOT_SUM_AT = FOOT_BYTES - 4
const TYPE = { entries: 1, links: 2 } as const
export const ENTRIES_PER_BLOCK = Math.floor((BLOCK_BYTES - ITEMS_AT) / ENTRY_BYTES)
const LINKS_PER_BLOCK = Math.floor((BLOCK_BYTES - ITEMS_AT) / LINK_BYTES)

export type BlockType = keyof typeof TYPE

/** Which file it is: known before the first block is written. */
export interface SideFileName {
  readonly role: SegmentRole
  readonly store: Uint8Array
  readonly salt: Uint8Array
  readonly number: number
  /** Every record of the segment up to here is listed. */
  readonly coveredEnd: number
  /** 16 random bytes: no two files have the same. */
  readonly nonce: Uint8Array
}

export interface SideFileFoot extends SideFileName {
  readonly entries: number
  readonly links: number
  /** 0 when there is no entry. */
  readonly lowestLsn: number
  readonly highestLsn: number
  /** The record that ends where the file's knowledge does; a reader that uses the file checks that it is there. */
  readonly last: LastRecord
}

export interface LastRecord {
  readonly offset: number
  readonly length: number
  readonly lsn: number
}

export function entryBlocks({ entries }: Pick<SideFileFoot, 'entries'>): number {
  return Math.ceil(entries / ENTRIES_PER_BLOCK)
}

export function linkBlocks({ links }: Pick<SideFileFoot, 'links'>): number {
  return Math.ceil(links / LINKS_PER_BLOCK)
}

export function sideFileBytes(foot: Pick<SideFileFoot, 'entries' | 'links'>): number {
  return (entryBlocks(foot) + linkBlocks(foot)) * BLOCK_BYTES + FOOT_BYTES
}

export function encodeFoot(crc32: Crc32, foot: SideFileFoot): Uint8Array {
  const bytes = new Uint8Array(FOOT_BYTES)
  const view = viewOf(bytes)
  writeName(bytes, foot)
  setInteger(view, 80, foot.entries)
  view.setUint32(88, foot.links, true)
  setSix(view, 92, foot.lowestLsn)
  setSix(view, 98, foot.highestLsn)
  setSix(view, 104, foot.last.offset)
  setSix(view, 110, foot.last.lsn)
  view.setUint32(116, foot.last.length, true)
  view.setUint32(FOOT_SUM_AT, crc32(bytes.subarray(0, FOOT_SUM_AT)), true)
  return bytes
}

/** What the last bytes of a file of this length say it is; `undefined` if they are no foot, or of a file of another length. */
export function decodeFoot(crc32: Crc32, bytes: Uint8Array, fileBytes: number): SideFileFoot | undefined {
  if (bytes.length !== FOOT_BYTES) return undefined
  const view = viewOf(bytes)
  if (!MAGIC.every((byte, at) => bytes[at] === byte) || view.getUint32(8, true) !== FORMAT) return undefined
  if (view.getUint32(FOOT_SUM_AT, true) !== crc32(bytes.subarray(0, FOOT_SUM_AT))) return undefined
  const foot: SideFileFoot = {
    role: view.getUint32(12, true) === 1 ? 'log' : 'compacted',
    store: bytes.slice(16, 32),
    salt: bytes.slice(32, 48),
    nonce: bytes.slice(48, 64),
    number: getInteger(view, 64),
    coveredEnd: getInteger(view, 72),
    entries: getInteger(view, 80),
    links: view.getUint32(88, true),
    lowestLsn: getSix(view, 92),
    highestLsn: getSix(view, 98),
    last: { offset: getSix(view, 104), length: view.getUint32(116, true), lsn: getSix(view, 110) },
  }
  return sideFileBytes(foot) === fileBytes ? foot : undefined
}

/** Makes and checks the blocks of one side file. */
export class BlockSums {
  readonly #crc32: Crc32
  readonly #named: number

  constructor(crc32: Crc32, name: SideFileName) {
    this.#crc32 = crc32
    const bytes = new Uint8Array(80)
    writeName(bytes, name)
    this.#named = crc32(bytes)
  }

  /** Completes a block whose items are in their place. */
  seal(block: Uint8Array, type: BlockType, number: number, count: number): void {
    const view = viewOf(block)
    view.setUint32(4, number, true)
    view.setUint16(COUNT_AT, count, true)
    block[TYPE_AT] = TYPE[type]
    view.setUint32(0, this.#sum(block), true)
  }

  /** How many items the block has; `undefined` if it is not this block. */
  check(block: Uint8Array, type: BlockType, number: number): number | undefined {
    const view = viewOf(block)
    const isIt = view.getUint32(4, true) === number && block[TYPE_AT] === TYPE[type]
    return isIt && view.getUint32(0, true) === this.#sum(block) ? view.getUint16(COUNT_AT, true) : undefined
  }

  #sum(block: Uint8Array): number {
    return this.#crc32(block.subarray(4), this.#named)
  }
}

/** Fills blocks with items, one after the other. */
export class BlockWriter {
  readonly #sums: BlockSums
  readonly #type: BlockType
  readonly #itemBytes: number
  readonly #perBlock: number
  #number: number
  #block = new Uint8Array(BLOCK_BYTES)
  #count = 0
  #full: Uint8Array[] = []
  #items = 0

  constructor(sums: BlockSums, type: BlockType, firstNumber: number) {
    this.#sums = sums
    this.#type = type
    this.#number = firstNumber
    this.#itemBytes = type === 'entries' ? ENTRY_BYTES : LINK_BYTES
    this.#perBlock = type === 'entries' ? ENTRIES_PER_BLOCK : LINKS_PER_BLOCK
  }

  get items(): number {
    return this.#items
  }

  /** The number the next block would have. */
  get nextNumber(): number {
    return this.#number + (this.#count > 0 ? 1 : 0)
  }

  add(bytes: Uint8Array, at: number): void {
    this.#block.set(bytes.subarray(at, at + this.#itemBytes), ITEMS_AT + this.#count * this.#itemBytes)
    this.#count += 1
    this.#items += 1
    if (this.#count === this.#perBlock) this.#seal()
  }

  /** Blocks that are full, or with `last` all that is left. */
  take(last = false): Uint8Array[] {
    if (last && this.#count > 0) this.#seal()
    const full = this.#full
    this.#full = []
    return full
  }

  #seal(): void {
    this.#sums.seal(this.#block, this.#type, this.#number, this.#count)
    this.#full.push(this.#block)
    this.#number += 1
    this.#block = new Uint8Array(BLOCK_BYTES)
    this.#count = 0
  }
}

/** Where the item of this number begins in its block. */
export function itemAt(type: BlockType, item: number): number {
  return ITEMS_AT + item * (type === 'entries' ? ENTRY_BYTES : LINK_BYTES)
}

function writeName(into: Uint8Array, { role, store, salt, nonce, number, coveredEnd }: SideFileName): void {
  const view = viewOf(into)
  into.set(MAGIC)
  view.setUint32(8, FORMAT, true)
  view.setUint32(12, role === 'log' ? 1 : 2, true)
  into.set(store.subarray(0, ID_BYTES), 16)
  into.set(salt.subarray(0, ID_BYTES), 32)
  into.set(nonce.subarray(0, ID_BYTES), 48)
  setInteger(view, 64, number)
  setInteger(view, 72, coveredEnd)
}

function setSix(view: DataView, at: number, value: number): void {
  view.setUint32(at, value % 0x1_0000_0000, true)
  view.setUint16(at + 4, Math.floor(value / 0x1_0000_0000), true)
}

function getSix(view: DataView, at: number): number {
  return view.getUint32(at, true) + view.getUint16(at + 4, true) * 0x1_0000_0000
}
