/** A file of map tiles, opened for reading. What it says about itself is checked before anything is read by it. */
import { CairnError, type Deadline } from '@cairn/kernel'
import type { DiskFile } from '@cairn/platform'

export type TileCoding = 'identity' | 'gzip' | 'br' | 'zstd'

/** What kind of bytes a tile is: the extension it is asked for by, and its media type. */
export interface TileType {
  readonly extension: string
  readonly mediaType: string
}

export const TILE_TYPES = {
  mvt: { extension: 'mvt', mediaType: 'application/vnd.mapbox-vector-tile' },
  mlt: { extension: 'mlt', mediaType: 'application/vnd.maplibre-vector-tile' },
  png: { extension: 'png', mediaType: 'image/png' },
  jpeg: { extension: 'jpg', mediaType: 'image/jpeg' },
  webp: { extension: 'webp', mediaType: 'image/webp' },
  avif: { extension: 'avif', mediaType: 'image/avif' },
  json: { extension: 'json', mediaType: 'application/json' },
  unknown: { extension: 'bin', mediaType: 'application/octet-stream' },
} as const satisfies Record<string, TileType>

export type TileTypeName = keyof typeof TILE_TYPES

export interface PackFacts {
  readonly format: 'pmtiles' | 'mbtiles'
  readonly tileType: TileTypeName
  readonly minZoom: number
  readonly maxZoom: number
  /** West, south, east, north, in degrees. */
  readonly bounds: readonly [number, number, number, number]
  /** Longitude, latitude, zoom. */
  readonly center: readonly [number, number, number]
}

export interface ReadOptions {
  readonly deadline: Deadline
  readonly signal?: AbortSignal | undefined
}

/** The bytes as they are stored. */
export interface MapTile {
  readonly bytes: Uint8Array
  readonly coding: TileCoding
}

export interface Pack extends AsyncDisposable {
  readonly facts: PackFacts
  /** The file the tiles are from, whatever has its name by now; closed with the pack. */
  readonly file: DiskFile
  /** A tile; undefined where the pack has none. `Integrity` `pack_corrupt` if the pack is not what it says it is. */
  tile(z: number, x: number, y: number, options: ReadOptions): Promise<MapTile | undefined>
  /** What its maker wrote about it. */
  metadata(options: ReadOptions): Promise<Readonly<Record<string, unknown>>>
  /**
   * Checks all that can be checked without reading every tile, and with `contents` the sums and places of tiles as well;
   * `onStep` hears of progress and stops it by throwing.
   */
  verify(options: ReadOptions, onStep: () => void, depth?: 'structure' | 'contents'): Promise<PackCount>
  close(): Promise<void>
}

export interface PackCount {
  /** How many tiles the pack tells of. */
  readonly tiles: number
}

/** A tile larger than this is no tile. */
export const TILE_BYTES_MAX = 16 * 1024 * 1024
export const METADATA_BYTES_MAX = 4 * 1024 * 1024
/** 4^26 tiles and all below them still count exactly. */
export const ZOOM_MAX = 26

/** The pack is not what it says it is. Nothing is wrong with the request, so the status is that of a bad source. */
export function corrupt(detail: string, cause?: unknown): CairnError {
  return new CairnError('Integrity', detail, { code: 'pack_corrupt', cause })
}

/** Whether such a tile can exist at all. */
export function isTilePlace(z: number, x: number, y: number): boolean {
  if (![z, x, y].every((part) => Number.isSafeInteger(part) && part >= 0) || z > ZOOM_MAX) return false
  return x < 2 ** z && y < 2 ** z
}
