/**
 * The index in memory: for each kind and id the record with the highest LSN, and where it lies.
 *
 *     id ─ first 12 bits ─▶ shard ─ fingerprint ─▶ slot, open addressing, fill ≤ 0.85, a shard grows × 1.35
 *
 *     slot 28 B   fingerprint 12 │ segment 3, colour 1 bit, tombstone 1 bit, kind 6 bits │ offset ÷ 8 4 │ length 3, LSN 5
 *
 * Ids are chosen by clients, so the fingerprint is salted with a secret of the process: 96 bits of it and the 12 bits of
 * the shard make two ids share a slot less often than a drive makes a sum of 64 bits agree by chance. Where a wrong
 * answer would destroy something, the record's own header is read all the same.
 *
 * Shards, because one table of millions of slots would stop the process for seconds when it grows.
 */
import { recordBytes } from '../journal/format.ts'
import type { RecordPlace } from '../journal/segment.ts'

const SHARDS = 4_096
const WORDS = 7
const SLOTS_MIN = 4
const FILL_MAX = 0.85
const GROWTH = 1.35
const KIND_MASK = 0x3f
const TOMBSTONE_BIT = 0x40
const COLOUR_BIT = 0x80
const WORD = 0x1_0000_0000
const LENGTH_MAX = 0xff_ffff
const ID_WORDS = 8
/** Words of salt: three sums over the words of an id, its kind and a constant. */
export const SALT_WORDS = 3 * (ID_WORDS + 2)
/** Kinds of record that can be indexed are 1 to this. */
const KIND_MAX = KIND_MASK

export interface IndexEntry {
  readonly lsn: number
  readonly isTombstone: boolean
  readonly place: RecordPlace
}

/** What of a record is indexed. */
export interface IndexedRecord extends IndexEntry {
  readonly kind: number
  readonly id: Uint8Array
}

export interface SegmentUse {
  /** Bytes of the segment that the index points to. */
  readonly liveBytes: number
  /** How many of those are tombstones, which may go one day. */
  readonly tombstoneBytes: number
}

interface Shard {
  words: Uint32Array
  slots: number
  count: number
}

const UNUSED: SegmentUse = { liveBytes: 0, tombstoneBytes: 0 }

export class Keydir {
  readonly #salt: Uint32Array
  readonly #shards = new Array<Shard | undefined>(SHARDS)
  readonly #uses = new Map<number, { liveBytes: number; tombstoneBytes: number }>()
  #slotsAtFirst = SLOTS_MIN
  #size = 0
  /** The colour of what is new, and of what was marked in this round. */
  #colour = 0
  /** The fingerprint that was computed last, and its shard. */
  #first = 0
  #second = 0
  #third = 0
  #shard = 0

  /** `salt` has `SALT_WORDS` random words. */
  constructor(salt: Uint32Array) {
    this.#salt = salt
  }

  get size(): number {
    return this.#size
  }

  /** Bytes of the tables. */
  get bytes(): number {
    return this.#shards.reduce((sum, shard) => sum + (shard?.words.byteLength ?? 0), 0)
  }

  /** Sizes shards that are made from now on for so many entries in all: growing costs time and memory. */
  expect(entries: number): void {
    const each = entries / SHARDS
    this.#slotsAtFirst = Math.max(SLOTS_MIN, Math.ceil((each + 3 * Math.sqrt(each)) / FILL_MAX) + 1)
  }

  get(kind: number, id: Uint8Array): IndexEntry | undefined {
    this.#hash(kind, id, 0)
    const shard = this.#shards[this.#shard]
    if (shard === undefined) return undefined
    const at = this.#find(shard, kind)
    return at < 0 ? undefined : entryAt(shard.words, at)
  }

  /** Takes in a record unless a newer one is known; on a tie the younger segment has the copy that stays. */
  apply(record: IndexedRecord): boolean {
    const { segment, offset, length } = record.place
    return this.applyParts(record.kind, record.id, 0, record.isTombstone, segment, offset, length, record.lsn)
  }

  /** The same without an object for each entry: a start takes in millions. The id lies at `at` of `bytes`. */
  applyParts(
    kind: number,
    bytes: Uint8Array,
    at: number,
    isTombstone: boolean,
    segment: number,
    offset: number,
    length: number,
    lsn: number,
  ): boolean {
    if (kind < 1 || kind > KIND_MAX || length > LENGTH_MAX) return false
    this.#hash(kind, bytes, at)
    const shard = this.#roomIn(this.#shard)
    const found = this.#find(shard, kind)
    const { words } = shard
    if (found >= 0) {
      const known = lsnAt(words, found)
      if (known > lsn || (known === lsn && segmentAt(words, found) >= segment)) return false
      this.#account(words, found, -1)
    } else {
      shard.count += 1
      this.#size += 1
    }
    const into = found >= 0 ? found : ~found
    words[into] = this.#first
    words[into + 1] = this.#second
    words[into + 2] = this.#third
    words[into + 3] = segment * 0x100 + (kind | (isTombstone ? TOMBSTONE_BIT : 0) | this.#colour)
    words[into + 4] = offset / 8
    words[into + 5] = length * 0x100 + Math.floor(lsn / WORD)
    words[into + 6] = lsn % WORD
    this.#account(words, into, 1)
    return true
  }

  /** Points the entry to a copy with the same LSN, if it is still what was copied. Its colour stays. */
  move(kind: number, id: Uint8Array, from: RecordPlace, to: RecordPlace): boolean {
    const found = this.#at(kind, id, from)
    if (found === undefined) return false
    const { words, at } = found
    this.#account(words, at, -1)
    words[at + 3] = to.segment * 0x100 + ((words[at + 3] ?? 0) & 0xff)
    words[at + 4] = to.offset / 8
    this.#account(words, at, 1)
    return true
  }

  /** Forgets the entry, if it still lies there. */
  remove(kind: number, id: Uint8Array, place: RecordPlace): boolean {
    const found = this.#at(kind, id, place)
    if (found === undefined) return false
    this.#account(found.words, found.at, -1)
    closeGap(found.shard, found.at)
    found.shard.count -= 1
    this.#size -= 1
    return true
  }

  /** Forgets every entry that lies in this segment; tells of each. */
  removeAll(segment: number, onRemoved: (kind: number, isTombstone: boolean) => void): void {
    for (const shard of this.#shards) {
      if (shard === undefined) continue
      const { words } = shard
      let at = 0
      while (at < words.length) {
        const word = words[at + 3] ?? 0
        if ((word & KIND_MASK) === 0 || segmentAt(words, at) !== segment) {
          at += WORDS
          continue
        }
        onRemoved(word & KIND_MASK, (word & TOMBSTONE_BIT) !== 0)
        this.#account(words, at, -1)
        // Another entry may move into this slot: it is looked at again.
        closeGap(shard, at)
        shard.count -= 1
        this.#size -= 1
      }
    }
  }

  use(segment: number): SegmentUse {
    return this.#uses.get(segment) ?? UNUSED
  }

  forgetSegment(segment: number): void {
    this.#uses.delete(segment)
  }

  /** Everything of these shards has the colour of the round that ends; `count` of them from `from` on. False past the last. */
  settleColours(from: number, count: number): boolean {
    for (let number = from; number < Math.min(SHARDS, from + count); number += 1) {
      const words = this.#shards[number]?.words
      if (words === undefined) continue
      for (let at = 3; at < words.length; at += WORDS) {
        const word = words[at] ?? 0
        if ((word & KIND_MASK) !== 0) words[at] = ((word & ~COLOUR_BIT) | this.#colour) >>> 0
      }
    }
    return from + count < SHARDS
  }

  /** From now on nothing is marked but what is new. All colours were settled before. */
  flipColour(): void {
    this.#colour ^= COLOUR_BIT
  }

  /** Marks the entry; true if it was there and had not been marked. */
  mark(kind: number, id: Uint8Array): boolean {
    this.#hash(kind, id, 0)
    const shard = this.#shards[this.#shard]
    const at = shard === undefined ? -1 : this.#find(shard, kind)
    if (shard === undefined || at < 0) return false
    const word = shard.words[at + 3] ?? 0
    if ((word & COLOUR_BIT) === this.#colour) return false
    shard.words[at + 3] = (word ^ COLOUR_BIT) >>> 0
    return true
  }

  isMarked(kind: number, id: Uint8Array): boolean {
    this.#hash(kind, id, 0)
    const shard = this.#shards[this.#shard]
    const at = shard === undefined ? -1 : this.#find(shard, kind)
    return shard !== undefined && at >= 0 && ((shard.words[at + 3] ?? 0) & COLOUR_BIT) === this.#colour
  }

  /** Entries of a kind that are no tombstones, shard by shard; each shard as it is when it is asked for. */
  *live(kind: number, { onlyUnmarked = false } = {}): Iterable<readonly IndexEntry[]> {
    for (const shard of this.#shards) {
      if (shard === undefined) continue
      const { words } = shard
      const found: IndexEntry[] = []
      for (let at = 0; at < words.length; at += WORDS) {
        const word = words[at + 3] ?? 0
        if ((word & (KIND_MASK | TOMBSTONE_BIT)) !== kind) continue
        if (!onlyUnmarked || (word & COLOUR_BIT) !== this.#colour) found.push(entryAt(words, at))
      }
      if (found.length > 0) yield found
    }
  }

  #at(kind: number, id: Uint8Array, place: RecordPlace): { shard: Shard; words: Uint32Array; at: number } | undefined {
    this.#hash(kind, id, 0)
    const shard = this.#shards[this.#shard]
    if (shard === undefined) return undefined
    const { words } = shard
    const at = this.#find(shard, kind)
    if (at < 0 || segmentAt(words, at) !== place.segment || (words[at + 4] ?? 0) * 8 !== place.offset) return undefined
    return { shard, words, at }
  }

  /** A sum with secret factors for each third of the fingerprint: who does not know them cannot make two ids agree. */
  #hash(kind: number, bytes: Uint8Array, from: number): void {
    const salt = this.#salt
    let first = Math.imul(kind, salt[0] ?? 0) + (salt[1] ?? 0)
    let second = Math.imul(kind, salt[2] ?? 0) + (salt[3] ?? 0)
    let third = Math.imul(kind, salt[4] ?? 0) + (salt[5] ?? 0)
    for (let word = 0; word < ID_WORDS; word += 1) {
      const at = from + 4 * word
      const value =
        (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8) | ((bytes[at + 2] ?? 0) << 16) | ((bytes[at + 3] ?? 0) << 24)
      const factor = 6 + 3 * word
      first = (first + Math.imul(value, salt[factor] ?? 0)) | 0
      second = (second + Math.imul(value, salt[factor + 1] ?? 0)) | 0
      third = (third + Math.imul(value, salt[factor + 2] ?? 0)) | 0
    }
    this.#first = first >>> 0
    this.#second = second >>> 0
    this.#third = third >>> 0
    this.#shard = ((bytes[from] ?? 0) << 4) | ((bytes[from + 1] ?? 0) >> 4)
  }

  /** Where the slot begins; if there is none, the complement of where it would. */
  #find({ words, slots }: Shard, kind: number): number {
    let slot = Math.floor((this.#first * slots) / WORD)
    for (;;) {
      const at = slot * WORDS
      const slotKind = (words[at + 3] ?? 0) & KIND_MASK
      if (slotKind === 0) return ~at
      const isSame = words[at] === this.#first && words[at + 1] === this.#second && words[at + 2] === this.#third
      if (isSame && slotKind === kind) return at
      slot = slot + 1 === slots ? 0 : slot + 1
    }
  }

  /** The shard, with a free slot to spare. */
  #roomIn(number: number): Shard {
    const shard = this.#shards[number]
    if (shard === undefined) {
      const slots = this.#slotsAtFirst
      const made = { words: new Uint32Array(slots * WORDS), slots, count: 0 }
      this.#shards[number] = made
      return made
    }
    if (shard.count + 1 > FILL_MAX * shard.slots) grow(shard)
    return shard
  }

  #account(words: Uint32Array, at: number, sign: 1 | -1): void {
    const segment = segmentAt(words, at)
    const bytes = sign * recordBytes(lengthAt(words, at))
    let use = this.#uses.get(segment)
    if (use === undefined) {
      use = { liveBytes: 0, tombstoneBytes: 0 }
      this.#uses.set(segment, use)
    }
    use.liveBytes += bytes
    if (((words[at + 3] ?? 0) & TOMBSTONE_BIT) !== 0) use.tombstoneBytes += bytes
  }
}

function grow(shard: Shard): void {
  const { words, slots } = shard
  const grownSlots = Math.ceil(slots * GROWTH) + 1
  const grown = new Uint32Array(grownSlots * WORDS)
  for (let at = 0; at < slots * WORDS; at += WORDS) {
    if (((words[at + 3] ?? 0) & KIND_MASK) === 0) continue
    let slot = Math.floor(((words[at] ?? 0) * grownSlots) / WORD)
    while (((grown[slot * WORDS + 3] ?? 0) & KIND_MASK) !== 0) slot = slot + 1 === grownSlots ? 0 : slot + 1
    grown.set(words.subarray(at, at + WORDS), slot * WORDS)
  }
  shard.words = grown
  shard.slots = grownSlots
}

/** Empties the slot at `at`; what was pushed past it moves back, so that a chain has no gap. */
function closeGap({ words, slots }: Shard, at: number): void {
  let gap = at / WORDS
  for (let slot = gap + 1 === slots ? 0 : gap + 1; ; slot = slot + 1 === slots ? 0 : slot + 1) {
    const from = slot * WORDS
    if (((words[from + 3] ?? 0) & KIND_MASK) === 0) break
    const home = Math.floor(((words[from] ?? 0) * slots) / WORD)
    // It may move back only to where a search from its home still comes past.
    const isPast = gap <= slot ? home <= gap || home > slot : home <= gap && home > slot
    if (!isPast) continue
    words.copyWithin(gap * WORDS, from, from + WORDS)
    gap = slot
  }
  words.fill(0, gap * WORDS, (gap + 1) * WORDS)
}

function segmentAt(words: Uint32Array, at: number): number {
  return (words[at + 3] ?? 0) >>> 8
}

function lengthAt(words: Uint32Array, at: number): number {
  return (words[at + 5] ?? 0) >>> 8
}

function lsnAt(words: Uint32Array, at: number): number {
  return ((words[at + 5] ?? 0) & 0xff) * WORD + (words[at + 6] ?? 0)
}

function entryAt(words: Uint32Array, at: number): IndexEntry {
  return {
    lsn: lsnAt(words, at),
    isTombstone: ((words[at + 3] ?? 0) & TOMBSTONE_BIT) !== 0,
    place: { segment: segmentAt(words, at), offset: (words[at + 4] ?? 0) * 8, length: lengthAt(words, at) },
  }
}
