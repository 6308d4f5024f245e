/**
 * What is known of records that no side file lists yet: packed entries, segment by segment, in the order they came;
 * and the sorting of them.
 *
 *     entry 52 B   id 32 │ kind 1 │ flags 1 │ offset 6 │ length 4 │ LSN 6 │ zero 2          link 64 B   hold 32 │ object 32
 *
 * They become a side file when their segment is sealed, or when there are many; then they go.
 */
import { alignUp, RECORD_HEADER_BYTES, RECORD_ID_BYTES } from '../journal/format.ts'
import type { RecordPlace } from '../journal/segment.ts'

/*
 * Puts packed entries in order of (kind, id), the newest first where an id has several, in steps that are short: a
 * segment may hold millions, and nothing else runs while one step does.
 *
 *     entries ─ count by (kind, first byte of the id) ─▶ buckets ─ each sorted by itself ─▶ order
 */

/** Entries looked at between two pauses. */
const STEP = 4_096
const BUCKETS_PER_KIND = 256

export type Pause = () => Promise<void>

/** The places of the entries in the order they should have. The bytes must not change meanwhile. */
export async function sortedEntries(bytes: Uint8Array, pause: Pause): Promise<Uint32Array> {
  const count = bytes.length / ENTRY_BYTES
  const ends = new Uint32Array(256 * BUCKETS_PER_KIND)
  const bucketOf = (entry: number): number => {
    const at = entry * ENTRY_BYTES
    return entryKind(bytes, at) * BUCKETS_PER_KIND + (bytes[at] ?? 0)
  }
  const countdown = new Countdown(pause)
  for (let entry = 0; entry < count; entry += 1) {
    const bucket = bucketOf(entry)
    ends[bucket] = (ends[bucket] ?? 0) + 1
    if (countdown.isDue(1)) await countdown.rest()
  }
  let sum = 0
  for (let bucket = 0; bucket < ends.length; bucket += 1) {
    const each = ends[bucket] ?? 0
    ends[bucket] = sum
    sum += each
  }
  const order = new Uint32Array(count)
  for (let entry = 0; entry < count; entry += 1) {
    const bucket = bucketOf(entry)
    const place = ends[bucket] ?? 0
    order[place] = entry * ENTRY_BYTES
    ends[bucket] = place + 1
    if (countdown.isDue(1)) await countdown.rest()
  }
  let from = 0
  for (const end of ends) {
    if (end - from > 1) {
      order
        .subarray(from, end)
        .sort((a, b) => compareEntries(bytes, a, bytes, b) || entryLsn(bytes, b) - entryLsn(bytes, a))
      // Sorting costs more than a look at each.
      if (countdown.isDue(4 * (end - from))) await countdown.rest()
    }
    from = Math.max(from, end)
  }
  return order
}

/** Links in order of their hold. There are few. */
export function sortedLinks(bytes: Uint8Array): number[] {
  const places = Array.from({ length: bytes.length / LINK_BYTES }, (_, link) => link * LINK_BYTES)
  return places.sort((a, b) => compareLinks(bytes, a, b))
}

function compareLinks(bytes: Uint8Array, a: number, b: number): number {
  for (let at = 0; at < LINK_BYTES; at += 1) {
    const difference = (bytes[a + at] ?? 0) - (bytes[b + at] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}

class Countdown {
  readonly #pause: Pause
  #left = STEP

  constructor(pause: Pause) {
    this.#pause = pause
  }

  isDue(steps: number): boolean {
    this.#left -= steps
    return this.#left <= 0
  }

  async rest(): Promise<void> {
    this.#left = STEP
    await this.#pause()
  }
}

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
  readonly place: RecordPlace
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
