/**
 * Tiles (C2SP tlog-tiles): the tree cut into files of 256 hashes or entries, which never change once they are full.
 *
 *   level 1   [ ○ ○ ○ … ]              each hash is the root of one full tile below
 *               │ │ └────────────┐
 *   level 0   [256] [256] [256] [37]   hashes of leaves; the last tile is partial: tile/0/003.p/37
 *               │     │     │     │
 *   entries   [256] [256] [256] [37]   the leaves themselves
 *
 * A partial tile is the beginning of the full one, so a log keeps one growing file per level and serves
 * every narrower width of it by cutting it.
 */
import { CairnError } from '@cairn/kernel'
import { parseDecimal } from './encoding.ts'
import { Frontier } from './frontier.ts'
import { HASH_BYTES, type Hash } from './hash.ts'
import { type HashReader, type Node, requireSize } from './range.ts'

/*
 * `TileWriter` grows a tree leaf by leaf and returns the tiles that makes.
 *
 *   append(leaf) ─→ Frontier ─→ every subtree of 256^k leaves it completes ─→ the growing tile of level k
 *                                                                              └─ 256 hashes: a full tile
 *
 * Nothing is hashed twice: the frontier computes the root over a full tile on its way up anyway.
 */

export interface TileContent {
  readonly tile: Tile
  readonly bytes: Uint8Array
}

export class TileWriter {
  readonly #frontier: Frontier
  /** The hashes of the growing tile of each level, 0 to 255 of them. */
  readonly #growing: Hash[][]

  private constructor(frontier: Frontier, growing: Hash[][]) {
    this.#frontier = frontier
    this.#growing = growing
  }

  /** The writer of an empty tree. */
  static empty(): TileWriter {
    return new TileWriter(new Frontier(), [])
  }

  /** The writer of a tree that is already there, ready for leaf `size`. */
  static async resume(size: number, read: HashReader): Promise<TileWriter> {
    const frontier = await Frontier.read(size, read)
    const growing: Hash[][] = []
    for (let level = 0, count = size; count > 0; level += 1, count = Math.floor(count / TILE_WIDTH)) {
      const hashes: Hash[] = []
      for (let index = count - (count % TILE_WIDTH); index < count; index += 1) {
        hashes.push(await read(level * TILE_HEIGHT, index))
      }
      growing.push(hashes)
    }
    return new TileWriter(frontier, growing)
  }

  get size(): number {
    return this.#frontier.size
  }

  root(): Hash {
    return this.#frontier.root()
  }

  /** Returns the right edge alone, for a caller that needs the root later but no tiles. */
  frontier(): Frontier {
    return this.#frontier.clone()
  }

  /** An independent writer of the same tree: what is appended to it can be thrown away. */
  clone(): TileWriter {
    return new TileWriter(
      this.#frontier.clone(),
      this.#growing.map((hashes) => [...hashes]),
    )
  }

  /** Adds a leaf; gives the tiles it makes full, lowest level first. Mostly there are none. */
  append(leaf: Hash): TileContent[] {
    const full: TileContent[] = []
    this.#frontier.append(leaf, (node, hash) => {
      if (node.level % TILE_HEIGHT === 0) full.push(...this.#place(node, hash))
    })
    return full
  }

  /** The partial tile of every level that has one: with all the full tiles so far, the whole tree. */
  partialTiles(): TileContent[] {
    return this.#growing.flatMap((hashes, level) =>
      hashes.length === 0 ? [] : [content(level, Math.floor(this.size / TILE_WIDTH ** (level + 1)), hashes)],
    )
  }

  #place({ level, index }: Node, hash: Hash): TileContent[] {
    const tileLevel = level / TILE_HEIGHT
    const hashes = this.#growing[tileLevel] ?? []
    this.#growing[tileLevel] = hashes
    hashes.push(hash)
    if (hashes.length < TILE_WIDTH) return []
    return [content(tileLevel, Math.floor(index / TILE_WIDTH), hashes.splice(0))]
  }
}

function content(level: number, index: number, hashes: readonly Hash[]): TileContent {
  const bytes = new Uint8Array(hashes.length * HASH_BYTES)
  hashes.forEach((hash, at) => {
    bytes.set(hash, at * HASH_BYTES)
  })
  return { tile: { level, index, width: hashes.length }, bytes }
}

/*
 * Entry bundles (C2SP tlog-tiles): up to 256 entries in one file, each after its length in two big-endian bytes.
 *
 *   00 05 h e l l o   00 00   00 03 f o o        three entries, the second of no bytes
 */

/** What two bytes of length can say. */
export const MAX_ENTRY_BYTES = 65_535
const LENGTH_BYTES = 2

export function encodeEntryBundle(entries: readonly Uint8Array[]): Uint8Array {
  if (entries.length === 0 || entries.length > TILE_WIDTH)
    throw malformedBundle(`has ${entries.length} entries, not 1 to 256`)
  const oversize = entries.find(({ length }) => length > MAX_ENTRY_BYTES)
  if (oversize !== undefined)
    throw malformedBundle(`has an entry of ${oversize.length} bytes; ${MAX_ENTRY_BYTES} is the most`)
  const total = entries.reduce((sum, { length }) => sum + LENGTH_BYTES + length, 0)
  const bytes = new Uint8Array(total)
  const view = new DataView(bytes.buffer)
  let at = 0
  for (const entry of entries) {
    view.setUint16(at, entry.length)
    bytes.set(entry, at + LENGTH_BYTES)
    at += LENGTH_BYTES + entry.length
  }
  return bytes
}

/** The `width` entries of a bundle, as views of `bytes`; refuses one with more, fewer or a part of one. */
export function decodeEntryBundle(bytes: Uint8Array, width: number): Uint8Array[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const entries: Uint8Array[] = []
  for (let at = 0; at < bytes.length; ) {
    if (entries.length === width || at + LENGTH_BYTES > bytes.length)
      throw malformedBundle(`is not ${width} whole entries`)
    const start = at + LENGTH_BYTES
    at = start + view.getUint16(at)
    if (at > bytes.length) throw malformedBundle('ends inside an entry')
    entries.push(bytes.subarray(start, at))
  }
  if (entries.length !== width) throw malformedBundle(`has ${entries.length} entries, not ${width}`)
  return entries
}

function malformedBundle(why: string): CairnError {
  return new CairnError('Malformed', `The entry bundle ${why}.`)
}

/** Hashes, or entries, in a full tile. */
export const TILE_WIDTH = 256
/** Levels of the tree in one tile: 2^8 = 256. */
const TILE_HEIGHT = 8

export interface Tile {
  /** `entries` for the bundle of entries under the tile of level 0. */
  readonly level: number | 'entries'
  readonly index: number
  /** 1 to 256; below 256 the tile is partial. */
  readonly width: number
}

const MAX_LEVEL = 63
/** The longest: level 63, an index of 16 digits in 6 groups, and `.p/255`. */
const MAX_PATH_LENGTH = 48
const TILE_PATH = /^tile\/(\d+|entries)\/((?:x\d{3}\/)*\d{3})(?:\.p\/(\d+))?$/

/** `tile/<level>/<index>[.p/<width>]`, the index in groups of three digits: 1234067 is `x001/x234/067`. */
export function tilePath({ level, index, width }: Tile): string {
  requireSize(index)
  if (level !== 'entries' && !(Number.isInteger(level) && level >= 0 && level <= MAX_LEVEL)) {
    throw malformed(`has the level ${level}, not one from 0 to ${MAX_LEVEL}`)
  }
  if (!Number.isInteger(width) || width < 1 || width > TILE_WIDTH) throw malformed(`is ${width} wide, not 1 to 256`)
  const digits = String(index)
  const padded = digits.padStart(3 * Math.ceil(digits.length / 3), '0')
  const groups = padded.match(/\d{3}/g) ?? []
  const name = groups.map((group, at) => (at === groups.length - 1 ? group : `x${group}`)).join('/')
  return `tile/${level}/${name}${width === TILE_WIDTH ? '' : `.p/${width}`}`
}

/** The tile a path names; every tile has exactly one path. */
export function parseTilePath(path: string): Tile {
  const [, level, name, width] = (path.length <= MAX_PATH_LENGTH && TILE_PATH.exec(path)) || []
  if (level === undefined || name === undefined) throw malformed('has no path of this form')
  const tile: Tile = {
    level: level === 'entries' ? level : parseDecimal(level),
    index: Number(name.replaceAll(/[x/]/g, '')),
    width: width === undefined ? TILE_WIDTH : parseDecimal(width),
  }
  if (tilePath(tile) !== path) throw malformed('is spelled otherwise than its only way')
  return tile
}

/** The tile at `level` and `index` as a tree of `size` leaves has it; undefined where it has none. */
export function tileIn(level: number, index: number, size: number): Tile | undefined {
  const hashes = Math.floor(size / TILE_WIDTH ** level) - index * TILE_WIDTH
  return hashes <= 0 ? undefined : { level, index, width: Math.min(hashes, TILE_WIDTH) }
}

/** The root over the hashes of a full tile: what the tile above holds for it. */
export function tileRoot(bytes: Uint8Array): Hash {
  return rootOver(tileHashes(bytes, TILE_WIDTH))
}

/** Hashes of the tree of `size` leaves, from its tiles. Each tile is asked for once. */
export function tileHashReader(size: number, readTile: (tile: Tile) => Uint8Array | Promise<Uint8Array>): HashReader {
  requireSize(size)
  const read = new Map<string, Promise<Hash[]>>()
  return async (level, index) => {
    const tileLevel = Math.floor(level / TILE_HEIGHT)
    const count = 2 ** (level % TILE_HEIGHT)
    const first = index * count
    const tile = tileIn(tileLevel, Math.floor(first / TILE_WIDTH), size)
    if (tile === undefined) throw malformed(`of level ${tileLevel} for ${first} is not in a tree of ${size}`)
    const path = tilePath(tile)
    const pending = read.get(path) ?? hashesOf(tile, readTile)
    read.set(path, pending)
    const offset = first % TILE_WIDTH
    return rootOver((await pending).slice(offset, offset + count))
  }
}

async function hashesOf(tile: Tile, readTile: (tile: Tile) => Uint8Array | Promise<Uint8Array>): Promise<Hash[]> {
  return tileHashes(await readTile(tile), tile.width)
}

function tileHashes(bytes: Uint8Array, width: number): Hash[] {
  if (bytes.length !== width * HASH_BYTES) throw malformed(`has ${bytes.length} bytes, not ${width} hashes`)
  return Array.from({ length: width }, (_, at) => bytes.slice(at * HASH_BYTES, (at + 1) * HASH_BYTES))
}

function rootOver(hashes: readonly Hash[]): Hash {
  const frontier = new Frontier()
  for (const hash of hashes) frontier.append(hash)
  return frontier.root()
}

function malformed(why: string): CairnError {
  return new CairnError('Malformed', `A tile ${why}; see C2SP tlog-tiles for the form.`)
}
