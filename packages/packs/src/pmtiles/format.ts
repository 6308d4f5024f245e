/** The binary format of PMTiles archives: tile ids along the Hilbert curve, the header, and the directories. */
import { corrupt, type PackFacts, TILE_BYTES_MAX, type TileCoding, type TileTypeName, ZOOM_MAX } from '../pack.ts'

/*
 * Tile ids: the order of tiles in the archive, all of lower zooms first, then by their place on the Hilbert curve.
 *
 *     zoom 1:   0,0 → 0,1 → 1,1 → 1,0     ids 1 2 3 4, after the one tile of zoom 0
 */

/** The id of the first tile of a zoom: (4^z − 1) / 3. */
function firstIdOf(zoom: number): number {
  return (4 ** zoom - 1) / 3
}

/** How many ids there are up to and including this zoom. */
function idsThrough(zoom: number): number {
  return firstIdOf(zoom + 1)
}

/** The id of a tile that can exist (`isTilePlace`). Plain numbers: below 2^53 even at the deepest zoom. */
export function tileId(z: number, x: number, y: number): number {
  let [column, row, distance] = [x, y, 0]
  for (let side = 2 ** z / 2; side >= 1; side /= 2) {
    const right = Math.floor(column / side) % 2
    const below = Math.floor(row / side) % 2
    distance += side * side * (right === 1 ? 3 - below : below)
    ;[column, row] = turned(side, column, row, right, below)
  }
  return firstIdOf(z) + distance
}

/** The tile of an id; the inverse of `tileId`. */
export function tileOf(id: number): { readonly z: number; readonly x: number; readonly y: number } {
  let z = 0
  while (z < ZOOM_MAX && id >= firstIdOf(z + 1)) z += 1
  let [x, y, rest] = [0, 0, id - firstIdOf(z)]
  for (let side = 1; side < 2 ** z; side *= 2) {
    const right = Math.floor(rest / 2) % 2
    const below = right === 1 ? 1 - (rest % 2) : rest % 2
    ;[x, y] = turned(side, x, y, right, below)
    x += side * right
    y += side * below
    rest = Math.floor(rest / 4)
  }
  return { z, x, y }
}

/** Within a quarter of the curve the axes are swapped, and in one of them also reversed. */
function turned(side: number, x: number, y: number, right: number, below: number): [number, number] {
  if (below === 1) return [x, y]
  const [column, row] = right === 1 ? [side - 1 - (x % side), side - 1 - (y % side)] : [x, y]
  return [row, column]
}

/*
 * The header, the first 127 bytes: where the parts of the archive are and what its tiles are.
 *
 *     0      8        24         40       56      72      96  97  98  99  100 101 102     118        127
 *     magic  root     metadata   leaves   tiles   counts  cl  ic  tc  tt  min max bounds  center
 *
 * Numbers are little-endian; each part is an offset and a length of eight bytes. Every part must lie in the file.
 */

export const HEADER_BYTES = 127
/** The header and the root directory together are read at once. */
const FIRST_READ_BYTES = 16_384

const MAGIC = new TextEncoder().encode('PMTiles')
const VERSION = 3
const CODINGS: readonly (TileCoding | undefined)[] = [undefined, 'identity', 'gzip', 'br', 'zstd']
const TYPES: readonly TileTypeName[] = ['unknown', 'mvt', 'png', 'jpeg', 'webp', 'avif', 'mlt']

/** A part of the file. */
export interface Section {
  readonly offset: number
  readonly length: number
}

export interface Header {
  readonly root: Section
  readonly metadata: Section
  readonly leaves: Section
  readonly tiles: Section
  /** How directories and metadata are coded. */
  readonly inner: TileCoding
  /** How every tile is coded. */
  readonly tileCoding: TileCoding
  readonly facts: PackFacts
}

/** Decodes the header of a file with this many bytes; `pack_corrupt` says what is wrong. */
export function decodeHeader(bytes: Uint8Array, fileBytes: number): Header {
  if (bytes.length < HEADER_BYTES) throw corrupt(`The file is too short for an archive: ${bytes.length} bytes.`)
  if (MAGIC.some((byte, at) => bytes[at] !== byte)) throw corrupt('The file does not begin like a PMTiles archive.')
  if (bytes[7] !== VERSION) throw corrupt(`The archive is of version ${bytes[7]}; only version ${VERSION} is read.`)
  const view = new DataView(bytes.buffer, bytes.byteOffset, HEADER_BYTES)
  const section = (at: number, name: string): Section => sectionAt(view, at, name, fileBytes)
  const root = section(8, 'root directory')
  if (root.offset < HEADER_BYTES) throw corrupt('The root directory lies in the header.')
  if (root.offset + root.length > FIRST_READ_BYTES) {
    throw corrupt(`The root directory ends past the first ${FIRST_READ_BYTES} bytes.`)
  }
  return {
    root,
    metadata: section(24, 'metadata'),
    leaves: section(40, 'leaf directories'),
    tiles: section(56, 'tile data'),
    inner: codingAt(view, 97, 'directories'),
    // 0 is "unknown": the bytes are handed on as they are.
    tileCoding: view.getUint8(98) === 0 ? 'identity' : codingAt(view, 98, 'tiles'),
    facts: {
      format: 'pmtiles',
      tileType: TYPES[view.getUint8(99)] ?? 'unknown',
      ...zoomsOf(view),
      ...placesOf(view),
    },
  }
}

function sectionAt(view: DataView, at: number, name: string, fileBytes: number): Section {
  const [offset, length] = [Number(view.getBigUint64(at, true)), Number(view.getBigUint64(at + 8, true))]
  if (!Number.isSafeInteger(offset + length) || offset + length > fileBytes) {
    throw corrupt(`The ${name} of the archive should end at byte ${offset + length}; the file has ${fileBytes}.`)
  }
  return { offset, length }
}

function codingAt(view: DataView, at: number, what: string): TileCoding {
  const coding = CODINGS[view.getUint8(at)]
  if (coding === undefined) throw corrupt(`The ${what} are coded in an unknown way, ${view.getUint8(at)}.`)
  return coding
}

function zoomsOf(view: DataView): Pick<PackFacts, 'minZoom' | 'maxZoom'> {
  const [minZoom, maxZoom] = [view.getUint8(100), view.getUint8(101)]
  if (minZoom > maxZoom || maxZoom > ZOOM_MAX) throw corrupt(`The zooms ${minZoom} to ${maxZoom} cannot be.`)
  return { minZoom, maxZoom }
}

function placesOf(view: DataView): Pick<PackFacts, 'bounds' | 'center'> {
  const degrees = (at: number): number => view.getInt32(at, true) / 1e7
  return {
    bounds: [degrees(102), degrees(106), degrees(110), degrees(114)],
    center: [degrees(119), degrees(123), view.getUint8(118)],
  }
}

/*
 * A directory: which runs of tile ids are where. Four columns of varints, one after the other.
 *
 *     count │ id deltas … │ run lengths … │ lengths … │ offsets …
 *
 * A run length of 0 points to a leaf directory; else that many tiles in a row have the same bytes. An offset of 0
 * means "right after the one before", any other is one more than itself. Everything is checked against the section it
 * must lie in before its first use.
 */

/** An opened directory takes 32 bytes for each entry: a file with a million is hostile. */
const ENTRIES_MAX = 1 << 20
export const DIRECTORY_BYTES_MAX = 32 * 1024 * 1024

export interface TileDirectory {
  readonly count: number
  /** In growing order. */
  readonly ids: Float64Array
  readonly runs: Float64Array
  readonly offsets: Float64Array
  readonly lengths: Float64Array
}

export interface DirectoryEntry {
  readonly kind: 'tile' | 'leaf'
  readonly offset: number
  readonly length: number
}

interface ArchiveBounds {
  readonly tiles: Section
  readonly leaves: Section
  readonly maxZoom: number
}

/** Decodes the directory and checks every entry; `pack_corrupt` names the first that is impossible. */
export function decodeDirectory(bytes: Uint8Array, bounds: ArchiveBounds): TileDirectory {
  const reader = new Varints(bytes)
  const count = reader.next()
  // Four columns: an entry cannot take fewer than four bytes.
  if (count > ENTRIES_MAX || count * 4 > bytes.length) {
    throw corrupt(`A directory of ${bytes.length} bytes says it has ${count} entries.`)
  }
  const directory: TileDirectory = {
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

/** Finds a tile in the directory: its bytes, the leaf to look in, or nothing. */
export function findEntry(
  { count, ids, runs, offsets, lengths }: TileDirectory,
  id: number,
): DirectoryEntry | undefined {
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

function readIds(reader: Varints, { ids, count }: TileDirectory): void {
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

function readOffsets(reader: Varints, { offsets, lengths, count }: TileDirectory): void {
  for (let at = 0; at < count; at += 1) {
    const value = reader.next()
    if (value > 0) offsets[at] = value - 1
    else if (at > 0) offsets[at] = (offsets[at - 1] ?? 0) + (lengths[at - 1] ?? 0)
    else throw corrupt('The first entry of a directory follows on nothing.')
  }
}

function checkEntries(
  { count, ids, runs, offsets, lengths }: TileDirectory,
  { tiles, leaves, maxZoom }: ArchiveBounds,
): void {
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
