/**
 * What is known of records that no side file lists yet: packed entries, segment by segment, in the order they came.
 *
 *     entry 52 B   id 32 │ kind 1 │ flags 1 │ offset 6 │ length 4 │ LSN 6 │ zero 2          link 64 B   hold 32 │ object 32
 *
 * They become a side file when their segment is sealed, or when there are many; then they go.
 */
import { alignUp, RECORD_HEADER_BYTES, RECORD_ID_BYTES } from '../journal/format.ts'
import type { Place } from '../journal/segment.ts'

export const ENTRY_BYTES = 52
export const LINK_BYTES = 2 * RECORD_ID_BYTES
const KIND_AT = 32
const FLAGS_AT = 33
const OFFSET_AT = 34
const LENGTH_AT = 40
const LSN_AT = 44
const FIRST_ENTRIES = 64
const WORD = 0x1_0000_0000

/** Entries or links one after the other in a buffer that grows. */
export class PackedList {
  readonly itemBytes: number
  #bytes: Uint8Array
  #count = 0

  constructor(itemBytes: number) {
    this.itemBytes = itemBytes
    this.#bytes = new Uint8Array(itemBytes * FIRST_ENTRIES)
  }

  get count(): number {
    return this.#count
  }

  /** The bytes of all items; valid until the next is added. */
  get bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.#count * this.itemBytes)
  }

  /** Room for one more item, to be filled at once. Returns where it begins. */
  add(): { readonly bytes: Uint8Array; readonly at: number } {
    const at = this.#count * this.itemBytes
    if (at === this.#bytes.length) {
      const grown = new Uint8Array(2 * at)
      grown.set(this.#bytes)
      this.#bytes = grown
    }
    this.#count += 1
    return { bytes: this.#bytes, at }
  }
}

export interface EntryFacts {
  readonly kind: number
  readonly flags: number
  readonly offset: number
  readonly length: number
  readonly lsn: number
}

export function writeEntry(into: Uint8Array, at: number, id: Uint8Array, facts: EntryFacts): void {
  into.set(id, at)
  into[at + KIND_AT] = facts.kind
  into[at + FLAGS_AT] = facts.flags
  writeSix(into, at + OFFSET_AT, facts.offset)
  writeWord(into, at + LENGTH_AT, facts.length)
  writeSix(into, at + LSN_AT, facts.lsn)
}

export function entryKind(bytes: Uint8Array, at: number): number {
  return bytes[at + KIND_AT] ?? 0
}

export function entryFlags(bytes: Uint8Array, at: number): number {
  return bytes[at + FLAGS_AT] ?? 0
}

export function entryOffset(bytes: Uint8Array, at: number): number {
  return readSix(bytes, at + OFFSET_AT)
}

export function entryLength(bytes: Uint8Array, at: number): number {
  return readWord(bytes, at + LENGTH_AT)
}

export function entryLsn(bytes: Uint8Array, at: number): number {
  return readSix(bytes, at + LSN_AT)
}

/** An entry of this kind and id, to compare others with. */
export function entryKey(kind: number, id: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(ENTRY_BYTES)
  writeEntry(bytes, 0, id, { kind, flags: 0, offset: 0, length: 0, lsn: 0 })
  return bytes
}

/** By kind, then by id. */
export function compareEntries(a: Uint8Array, aAt: number, b: Uint8Array, bAt: number): number {
  const byKind = (a[aAt + KIND_AT] ?? 0) - (b[bAt + KIND_AT] ?? 0)
  return byKind === 0 ? compareAt(a, aAt, b, bAt, RECORD_ID_BYTES) : byKind
}

export function compareAt(a: Uint8Array, aAt: number, b: Uint8Array, bAt: number, count: number): number {
  for (let at = 0; at < count; at += 1) {
    const difference = (a[aAt + at] ?? 0) - (b[bAt + at] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}

/** What a segment holds from `from` to `end`, as far as no side file says it. */
export interface Unlisted {
  readonly from: number
  readonly entries: PackedList
  readonly links: PackedList
  end: number
  /** The record that ends there. */
  last: { readonly offset: number; readonly length: number; readonly lsn: number }
}

export function createUnlisted(from: number): Unlisted {
  return {
    from,
    entries: new PackedList(ENTRY_BYTES),
    links: new PackedList(LINK_BYTES),
    end: from,
    last: { offset: 0, length: 0, lsn: 0 },
  }
}

export interface ListedFacts {
  readonly kind: number
  readonly flags: number
  readonly id: Uint8Array
  readonly lsn: number
  readonly place: Place
}

/** Records come in the order in which they lie. */
export function noteRecord(into: Unlisted, record: ListedFacts, object: Uint8Array | undefined): void {
  const { id, kind, flags, lsn } = record
  const { offset, length } = record.place
  const { bytes, at } = into.entries.add()
  writeEntry(bytes, at, id, { kind, flags, offset, length, lsn })
  into.end = alignUp(offset + RECORD_HEADER_BYTES + length)
  into.last = { offset, length, lsn }
  if (object === undefined) return
  const link = into.links.add()
  link.bytes.set(id, link.at)
  link.bytes.set(object, link.at + RECORD_ID_BYTES)
}

/** What came after the first so many entries and links: those are in a side file now. */
export function restOf(list: Unlisted, from: number, entries: number, links: number): Unlisted {
  const rest = createUnlisted(from)
  copyItems(list.entries, entries, rest.entries)
  copyItems(list.links, links, rest.links)
  rest.end = list.end
  rest.last = list.last
  return rest
}

function copyItems(from: PackedList, first: number, into: PackedList): void {
  const { itemBytes, bytes } = from
  for (let at = first * itemBytes; at < bytes.length; at += itemBytes) {
    const item = into.add()
    item.bytes.set(bytes.subarray(at, at + itemBytes), item.at)
  }
}

function writeWord(into: Uint8Array, at: number, value: number): void {
  into[at] = value & 0xff
  into[at + 1] = (value >>> 8) & 0xff
  into[at + 2] = (value >>> 16) & 0xff
  into[at + 3] = value >>> 24
}

function readWord(bytes: Uint8Array, at: number): number {
  const low = (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8) | ((bytes[at + 2] ?? 0) << 16)
  return (low | ((bytes[at + 3] ?? 0) << 24)) >>> 0
}

function writeSix(into: Uint8Array, at: number, value: number): void {
  writeWord(into, at, value % WORD)
  const high = Math.floor(value / WORD)
  into[at + 4] = high & 0xff
  into[at + 5] = high >>> 8
}

function readSix(bytes: Uint8Array, at: number): number {
  return readWord(bytes, at) + ((bytes[at + 4] ?? 0) | ((bytes[at + 5] ?? 0) << 8)) * WORD
}
