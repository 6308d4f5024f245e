/**
 * Tiles (C2SP tlog-tiles): the tree cut into files of 256 hashes, which never change once they are full.
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
import { type HashReader, requireSize } from './range.ts'

/** Hashes, or entries, in a full tile. */
export const TILE_WIDTH = 256
/** Levels of the tree in one tile: 2^8 = 256. */
export const TILE_HEIGHT = 8

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
