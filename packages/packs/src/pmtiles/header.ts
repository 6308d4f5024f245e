/**
 * The first 127 bytes of a PMTiles archive: where its parts are and what its tiles are.
 *
 *     0      8        24         40       56      72      96  97  98  99  100 101 102     118        127
 *     magic  root     metadata   leaves   tiles   counts  cl  ic  tc  tt  min max bounds  center
 *
 * Numbers are little-endian; each part is an offset and a length of eight bytes. Every part must lie in the file.
 */
import { corrupt, type PackFacts, type TileCoding, type TileTypeName, ZOOM_MAX } from '../pack.ts'

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

/** Reads a header of a file with this many bytes; `pack_corrupt` with what is wrong. */
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
