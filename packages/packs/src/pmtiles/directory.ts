/**
 * A directory: which runs of tile ids are where. Four columns of varints, one after the other.
 *
 *     count │ id deltas … │ run lengths … │ lengths … │ offsets …
 *
 * A run length of 0 points to a leaf directory; else that many tiles in a row have the same bytes. An offset of 0
 * means "right after the one before", any other is one more than itself. Everything is held against the section it
 * must lie in before it is used once.
 */
import { corrupt, TILE_BYTES_MAX } from '../pack.ts'
import type { Section } from './header.ts'
import { idsThrough } from './tile-id.ts'

/** An opened directory takes 32 bytes for each entry: a million is a file that means harm. */
const ENTRIES_MAX = 1 << 20
export const DIRECTORY_BYTES_MAX = 32 * 1024 * 1024

export interface Directory {
  readonly count: number
  /** In growing order. */
  readonly ids: Float64Array
  readonly runs: Float64Array
  readonly offsets: Float64Array
  readonly lengths: Float64Array
}

export interface Entry {
  readonly kind: 'tile' | 'leaf'
  readonly offset: number
  readonly length: number
}

interface Bounds {
  readonly tiles: Section
  readonly leaves: Section
  readonly maxZoom: number
}

/** Reads the directory and checks every entry of it; `pack_corrupt` names the first that cannot be. */
export function decodeDirectory(bytes: Uint8Array, bounds: Bounds): Directory {
  const reader = new Varints(bytes)
  const count = reader.next()
  // Four columns: an entry cannot take fewer than four bytes.
  if (count > ENTRIES_MAX || count * 4 > bytes.length) {
    throw corrupt(`A directory of ${bytes.length} bytes says it has ${count} entries.`)
  }
  const directory: Directory = {
    count,
    ids: new Float64Array(count),
    runs: new Float64Array(count),
    offsets: new Float64Array(count),
    lengths: new Float64Array(count),
  }
  readIds(reader, directory)
  readColumn(reader, directory.runs)
  readColumn(reader, directory.lengths)
  readOffsets(reader, directory)
  if (!reader.atEnd) throw corrupt('A directory goes on after its last entry.')
  checkEntries(directory, bounds)
  return directory
}

/** What the directory has for a tile: its bytes, the leaf to look in, or nothing. */
export function findEntry({ count, ids, runs, offsets, lengths }: Directory, id: number): Entry | undefined {
  let [low, high] = [0, count - 1]
  while (low <= high) {
    const middle = (low + high) >>> 1
    if ((ids[middle] ?? 0) <= id) low = middle + 1
    else high = middle - 1
  }
  // `high` is the last entry that begins at the id or before it.
  if (high < 0) return undefined
  const [first = 0, run = 0, offset = 0, length = 0] = [ids[high], runs[high], offsets[high], lengths[high]]
  if (run === 0) return { kind: 'leaf', offset, length }
  return id < first + run ? { kind: 'tile', offset, length } : undefined
}

function readIds(reader: Varints, { ids, count }: Directory): void {
  let id = 0
  for (let at = 0; at < count; at += 1) {
    const delta = reader.next()
    if (at > 0 && delta === 0) throw corrupt(`Entry ${at} of a directory begins where the one before it does.`)
    id += delta
    ids[at] = id
  }
}

function readColumn(reader: Varints, column: Float64Array): void {
  for (let at = 0; at < column.length; at += 1) column[at] = reader.next()
}

function readOffsets(reader: Varints, { offsets, lengths, count }: Directory): void {
  for (let at = 0; at < count; at += 1) {
    const value = reader.next()
    if (value > 0) offsets[at] = value - 1
    else if (at > 0) offsets[at] = (offsets[at - 1] ?? 0) + (lengths[at - 1] ?? 0)
    else throw corrupt('The first entry of a directory follows on nothing.')
  }
}

function checkEntries({ count, ids, runs, offsets, lengths }: Directory, { tiles, leaves, maxZoom }: Bounds): void {
  const idsEnd = idsThrough(maxZoom)
  for (let at = 0; at < count; at += 1) {
    const [id = 0, run = 0, offset = 0, length = 0] = [ids[at], runs[at], offsets[at], lengths[at]]
    const next = ids[at + 1] ?? idsEnd
    const section = run === 0 ? leaves : tiles
    const lengthMax = run === 0 ? DIRECTORY_BYTES_MAX : TILE_BYTES_MAX
    if (length === 0) throw corrupt(`Entry ${at} of a directory has no bytes.`)
    if (length > lengthMax) throw corrupt(`Entry ${at} of a directory has ${length} bytes, more than ${lengthMax}.`)
    if (offset + length > section.length) throw corrupt(`Entry ${at} of a directory lies outside its section.`)
    if (id + Math.max(run, 1) > next) throw corrupt(`Entry ${at} of a directory reaches into the one after it.`)
  }
}

/** Numbers of seven bits a byte, low ones first; at most 53 bits in all. */
class Varints {
  readonly #bytes: Uint8Array
  #at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  get atEnd(): boolean {
    return this.#at === this.#bytes.length
  }

  next(): number {
    let [value, factor] = [0, 1]
    for (;;) {
      const byte = this.#bytes[this.#at]
      if (byte === undefined) throw corrupt('A directory ends in the middle of a number.')
      this.#at += 1
      value += (byte & 0x7f) * factor
      if (value > Number.MAX_SAFE_INTEGER) throw corrupt('A number in a directory is too large.')
      if (byte < 0x80) return value
      factor *= 128
      if (factor > 2 ** 56) throw corrupt('A number in a directory does not end.')
    }
  }
}
