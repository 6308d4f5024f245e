/**
 * The view every store begins with: for each kind and id the record with the highest LSN, and where it lies; and which
 * hold is on which object.
 *
 *     side files, segments ─▶ load ─┐
 *                                   ├─▶ keydir (memory) ◀─ get, move, forget, mark
 *     journal: what became durable ─┘
 *
 * It is a copy, and it may be wrong: the journal decides. Until every segment was read it is incomplete, and only what
 * is newer than anything not read yet is an answer.
 */
import { RECORD_ID_BYTES, TOMBSTONE } from '../journal/format.ts'
import type { Draft, PlacedRecord, RecordPlace } from '../journal/segment.ts'
import { entryFlags, entryKind, entryLength, entryLsn, entryOffset } from './entry-lists.ts'
import { type IndexEntry, type IndexedRecord, Keydir, SALT_WORDS, type SegmentUse } from './keydir-core.ts'

const ID_BYTES = 32

/** Holds and their objects, both ways. A hold's id is made of its object, so a link never changes its meaning. */
class HoldLinks {
  readonly #objectOf = new Map<string, string>()
  readonly #holdsOf = new Map<string, string>()

  get size(): number {
    return this.#objectOf.size
  }

  add(hold: Uint8Array, object: Uint8Array): void {
    const name = packId(hold)
    if (this.#objectOf.has(name)) return
    const held = packId(object)
    this.#objectOf.set(name, held)
    this.#holdsOf.set(held, (this.#holdsOf.get(held) ?? '') + name)
  }

  remove(hold: Uint8Array): void {
    const name = packId(hold)
    const held = this.#objectOf.get(name)
    if (held === undefined) return
    this.#objectOf.delete(name)
    const rest = unpackIds(this.#holdsOf.get(held)).filter((each) => each !== name)
    if (rest.length === 0) this.#holdsOf.delete(held)
    else this.#holdsOf.set(held, rest.join(''))
  }

  of(object: Uint8Array): Uint8Array[] {
    return unpackIds(this.#holdsOf.get(packId(object))).map((name) =>
      Uint8Array.from(name, (letter) => letter.charCodeAt(0)),
    )
  }
}

function unpackIds(packed = ''): string[] {
  return Array.from({ length: packed.length / ID_BYTES }, (_, at) => packed.slice(at * ID_BYTES, (at + 1) * ID_BYTES))
}

function packId(id: Uint8Array): string {
  return String.fromCharCode(...id)
}

/** Shards looked at between two pauses of a pass over everything. */
const SHARDS_PER_SLICE = 256

export interface RecordIndexOptions {
  /** Random, and never leaves the process. */
  readonly salt: Uint8Array
  /** The object a record holds; `undefined` for one that is no hold, or does not say. */
  readonly heldBy: (record: Draft) => Uint8Array | undefined
}

export class RecordIndex {
  readonly #keydir: Keydir
  readonly #links = new HoldLinks()
  readonly #heldBy: RecordIndexOptions['heldBy']
  /** The highest LSN that something not read yet may have; 0 once everything was read. */
  #unreadLsn = Number.POSITIVE_INFINITY

  constructor({ salt, heldBy }: RecordIndexOptions) {
    this.#keydir = new Keydir(new Uint32Array(salt.slice().buffer, 0, SALT_WORDS))
    this.#heldBy = heldBy
  }

  /** Every segment was read: what is not here is not in the journal. */
  get isComplete(): boolean {
    return this.#unreadLsn === 0
  }

  /** Entries, tombstones among them. */
  get size(): number {
    return this.#keydir.size
  }

  /** Bytes of its tables. */
  get bytes(): number {
    return this.#keydir.bytes
  }

  get(kind: number, id: Uint8Array): IndexEntry | undefined {
    return this.#keydir.get(kind, id)
  }

  /** Whether what `get` says is the answer: nothing that was not read yet can be newer. */
  isDefinitive(entry: IndexEntry | undefined): boolean {
    return entry === undefined ? this.isComplete : entry.lsn > this.#unreadLsn
  }

  /** For the loader: nothing it has yet to read has a higher LSN. 0 says that it has read everything. */
  readDownTo(lsn: number): void {
    this.#unreadLsn = lsn
  }

  /** For the loader: so many entries will come. */
  expect(entries: number): void {
    this.#keydir.expect(entries)
  }

  /** Takes in a record; an older one than what is known changes nothing. On a tie the younger segment wins. */
  apply(record: PlacedRecord): boolean {
    const isTombstone = (record.flags & TOMBSTONE) !== 0
    const isNewer = this.#keydir.apply({ ...record, isTombstone })
    // What is known already may be known from a side file whose links could not be read.
    if (isNewer || this.#keydir.get(record.kind, record.id)?.lsn === record.lsn) this.#follow(record, isTombstone)
    return isNewer
  }

  /** Takes in a record that has just become durable: newer than anything known. */
  applyNewest(record: PlacedRecord): void {
    this.apply(record)
  }

  /** The same for what a side file says of a record. */
  applyEntry(record: IndexedRecord): boolean {
    return this.#keydir.apply(record)
  }

  /** The same for an entry of a side file, without an object for each: a start takes in millions. */
  applyListed(bytes: Uint8Array, at: number, segment: number): void {
    const isTombstone = (entryFlags(bytes, at) & TOMBSTONE) !== 0
    const offset = entryOffset(bytes, at)
    const length = entryLength(bytes, at)
    this.#keydir.applyParts(entryKind(bytes, at), bytes, at, isTombstone, segment, offset, length, entryLsn(bytes, at))
  }

  /** A side file says that this hold is on this object; it counts if the hold itself is not known to be gone. */
  applyLink(bytes: Uint8Array, at: number): void {
    const middle = at + RECORD_ID_BYTES
    this.#links.add(bytes.subarray(at, middle), bytes.subarray(middle, middle + RECORD_ID_BYTES))
  }

  /** Points the entry to a copy, if it is still what was copied. */
  move(kind: number, id: Uint8Array, from: RecordPlace, to: RecordPlace): boolean {
    return this.#keydir.move(kind, id, from, to)
  }

  /** Forgets the entry, if it is still this record: an unneeded tombstone, or an entry that turned out wrong. */
  forget(kind: number, id: Uint8Array, place: RecordPlace): boolean {
    return this.#keydir.remove(kind, id, place)
  }

  /** How much of this segment the index points to. */
  use(segment: number): SegmentUse {
    return this.#keydir.use(segment)
  }

  /** Forgets every entry that lies in this segment, tombstones too; tells of each. */
  forgetAll(segment: number, onForgotten: (kind: number, isTombstone: boolean) => void): void {
    this.#keydir.removeAll(segment, onForgotten)
  }

  /** The segment is gone. */
  forgetSegment(segment: number): void {
    this.#keydir.forgetSegment(segment)
  }

  /** Ids of the holds on this object, of the kind given, that are not released. Whole once the index is complete. */
  holdsOn(holdKind: number, object: Uint8Array): Uint8Array[] {
    return this.#links.of(object).filter((hold) => this.#keydir.get(holdKind, hold)?.isTombstone === false)
  }

  /** Begins a round of marking: nothing is marked but what comes from now on. `pause` is called between slices. */
  async beginRound(pause: () => Promise<void>): Promise<void> {
    for (let from = 0; this.#keydir.settleColours(from, SHARDS_PER_SLICE); from += SHARDS_PER_SLICE) await pause()
    this.#keydir.flipColour()
  }

  /** True if the entry is there and was not marked in this round. */
  mark(kind: number, id: Uint8Array): boolean {
    return this.#keydir.mark(kind, id)
  }

  isMarked(kind: number, id: Uint8Array): boolean {
    return this.#keydir.isMarked(kind, id)
  }

  /**
   * Entries of a kind that are no tombstones, in slices, each as it is when it is asked for: other work may come between
   * two. Only the journal knows their ids.
   */
  live(kind: number): Iterable<readonly IndexEntry[]> {
    return this.#keydir.live(kind)
  }

  /** Those of them that were not marked in this round. */
  unmarked(kind: number): Iterable<readonly IndexEntry[]> {
    return this.#keydir.live(kind, { onlyUnmarked: true })
  }

  #follow(record: PlacedRecord, isTombstone: boolean): void {
    if (isTombstone) {
      this.#links.remove(record.id)
      return
    }
    const object = this.#heldBy(record)
    if (object !== undefined) this.#links.add(record.id, object)
  }
}

/** A salt is as long as this. */
export const SALT_BYTES = 4 * SALT_WORDS
