/** A pack as the edge serves it: its tiles by `@cairn/packs`, the file itself from the same drive, its address by reading all of it. */
import { CairnError, Deadline } from '@cairn/kernel'
import { type Pack as Archive, openPack, type PackFacts, TILE_TYPES } from '@cairn/packs'
import { type Coding, type DiskFile, IDENTIFY_FILE, type Inflate, type Platform } from '@cairn/platform'
import { type Address, addressFromDigest, type ByteRange, createBlake3, type JsonObject } from '@cairn/wire'

// What the edge needs of a tile pack; `@cairn/packs` reads the formats.

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
export interface ServedPack {
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
export type OpenPack = (file: PackFile, wait: PackWait) => Promise<ServedPack>

/** A file of a hundred gigabytes takes a minute to hash; opening it never takes longer than that. */
const OPEN_MS = 120_000
const TILE_MS = 1_000
const READ_BYTES = 1024 * 1024
const MEDIA_TYPES = { pmtiles: 'application/vnd.pmtiles', mbtiles: 'application/vnd.sqlite3' } as const

/** Addresses kept of files that have not changed since they were read; the oldest are worked out again. */
const ADDRESSES_MAX = 1000

/** Opens packs of this machine. A file that is opened again and has not changed is not read again for its address. */
export function packOpener(platform: Platform, inflate: Inflate): OpenPack {
  const { isolated, workers, clock } = platform
  const disk = platform.operatorDisk ?? platform.disk
  const addresses = new Map<string, Address>()
  return async ({ path, address }, { signal }) => {
    const options = { deadline: Deadline.after(clock, OPEN_MS), signal }
    const identify = async (): Promise<string> => await workers.run(IDENTIFY_FILE, path, options)
    const identity = await identify()
    const archive = await openPack({ runtime: platform, disk, isolated, inflate }, path, options)
    await using opened = new AsyncDisposableStack()
    opened.use(archive)
    const size = await archive.file.size()
    const found = addresses.get(identity) ?? (await addressOfFile(archive.file, size, options))
    if ((await identify()) !== identity) {
      throw new CairnError('StorageBusy', 'The file was replaced while it was opened. Open it again.')
    }
    // oxlint-disable-next-line cairn/check-then-act -- a file of one identity has one address
    addresses.set(identity, found)
    const [oldest] = addresses.size > ADDRESSES_MAX ? addresses.keys() : []
    if (oldest !== undefined) addresses.delete(oldest)
    if (address !== undefined && address !== found) {
      throw new CairnError('Integrity', `The pack is ${found}, not ${address}.`, { code: 'pack_corrupt' })
    }
    await archive.verify(options, () => signal.throwIfAborted())
    const metadata = (await archive.metadata(options)) as JsonObject
    opened.move()
    return new OpenedPack({ archive, size, address: found, metadata, clock })
  }
}

interface PackContents {
  readonly archive: Archive
  readonly size: number
  readonly address: Address
  readonly metadata: JsonObject
  readonly clock: Platform['clock']
}

class OpenedPack implements ServedPack {
  readonly #opened: PackContents
  readonly mediaType: string
  readonly facts: TileFacts

  constructor(opened: PackContents) {
    this.#opened = opened
    const { facts } = opened.archive
    this.mediaType = MEDIA_TYPES[facts.format]
    this.facts = tileFacts(facts, opened.metadata)
  }

  get address(): Address {
    return this.#opened.address
  }

  get size(): number {
    return this.#opened.size
  }

  get metadata(): JsonObject {
    return this.#opened.metadata
  }

  async tile(z: number, x: number, y: number, { signal }: PackWait): Promise<PackTile | undefined> {
    const { archive, clock } = this.#opened
    const tile = await archive.tile(z, x, y, { deadline: Deadline.after(clock, TILE_MS), signal })
    if (tile === undefined) return undefined
    return { bytes: tile.bytes, coding: tile.coding === 'identity' ? undefined : tile.coding }
  }

  async *read({ first, last }: ByteRange, { signal }: PackWait): AsyncIterable<Uint8Array> {
    const { file } = this.#opened.archive
    for (let at = first; at <= last; at += READ_BYTES) {
      signal.throwIfAborted()
      const bytes = new Uint8Array(Math.min(READ_BYTES, last - at + 1))
      if ((await file.read(at, bytes)) < bytes.length) {
        throw new CairnError('Integrity', 'The pack has become shorter.', { code: 'pack_corrupt' })
      }
      yield bytes
    }
  }

  async close(): Promise<void> {
    await this.#opened.archive.close()
  }
}

async function addressOfFile(
  file: DiskFile,
  size: number,
  { deadline, signal }: { readonly deadline: Deadline; readonly signal: AbortSignal },
): Promise<Address> {
  const hasher = createBlake3()
  const bytes = new Uint8Array(READ_BYTES)
  for (let at = 0; at < size; ) {
    signal.throwIfAborted()
    deadline.throwIfExpired('pack')
    const read = await file.read(at, bytes)
    if (read === 0) throw new CairnError('Integrity', 'The pack has become shorter.', { code: 'pack_corrupt' })
    hasher.update(bytes.subarray(0, read))
    at += read
  }
  return addressFromDigest(hasher.digest())
}

function tileFacts(facts: PackFacts, metadata: JsonObject): TileFacts {
  const { extension: format, mediaType } = TILE_TYPES[facts.tileType]
  const { minZoom, maxZoom, bounds, center } = facts
  const texts = (['name', 'attribution', 'description'] as const).flatMap((key) =>
    typeof metadata[key] === 'string' ? [[key, metadata[key]] as const] : [],
  )
  const layers = metadata['vector_layers']
  return {
    format,
    mediaType,
    minZoom,
    maxZoom,
    bounds,
    center,
    ...Object.fromEntries(texts),
    ...(Array.isArray(layers) ? { vectorLayers: layers as JsonObject[] } : {}),
  }
}
