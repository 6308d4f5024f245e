/** What the edge needs of a tile pack; `@cairn/packs` reads the formats. */
import type { Coding } from '@cairn/platform'
import type { Address, ByteRange, JsonObject } from '@cairn/wire'

export interface PackTile {
  /** As they are stored. */
  readonly bytes: Uint8Array
  /** How they are coded; nothing where they are plain. */
  readonly coding: Coding | undefined
}

/** The facts TileJSON 3 is made of. */
export interface TileFacts {
  /** `mvt`, `png`, `jpg`, `webp`, `avif`. */
  readonly format: string
  /** Media type of a tile. */
  readonly mediaType: string
  readonly minZoom: number
  readonly maxZoom: number
  /** West, south, east, north. */
  readonly bounds: readonly [number, number, number, number]
  /** Longitude, latitude, zoom. */
  readonly center: readonly [number, number, number]
  readonly name?: string
  readonly attribution?: string
  readonly description?: string
  readonly vectorLayers?: readonly JsonObject[]
}

export interface PackWait {
  readonly signal: AbortSignal
}

/** An open, verified pack. What it answers never changes: a changed file is another pack. */
export interface Pack {
  /** Of the whole file. */
  readonly address: Address
  readonly size: number
  /** Media type of the whole file. */
  readonly mediaType: string
  readonly facts: TileFacts
  readonly metadata: JsonObject
  /** The tile in XYZ numbering, or nothing. An error if the pack turns out to be damaged; never hangs. */
  tile(z: number, x: number, y: number, wait: PackWait): Promise<PackTile | undefined>
  read(range: ByteRange, wait: PackWait): AsyncIterable<Uint8Array>
  close(): Promise<void>
}

export interface PackFile {
  readonly path: string
  /** Refused if it is another. */
  readonly address?: Address
}

/** Opens and verifies; throws with a sentence where it cannot. */
export type OpenPack = (file: PackFile, wait: PackWait) => Promise<Pack>
