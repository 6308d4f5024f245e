/**
 * Reads tiles of a PMTiles archive (version 3).
 *
 *     id ─▶ root directory ─▶ leaf ─▶ (leaf) ─▶ offset, length ─▶ stored bytes
 *            kept             kept, the oldest go first
 *
 * Nothing is read before its place is known to be in the file, nothing is opened past its limit, and no chain of
 * leaves is followed further than any honest archive needs.
 */
import { type CairnError, Closeable, type Runtime } from '@cairn/kernel'
import type { Disk, DiskFile, Inflate } from '@cairn/platform'
import {
  corrupt,
  isTilePlace,
  type MapTile,
  METADATA_BYTES_MAX,
  type Pack,
  type PackCount,
  type PackFacts,
  type ReadOptions,
  type TileCoding,
} from '../pack.ts'
import {
  DIRECTORY_BYTES_MAX,
  decodeDirectory,
  decodeHeader,
  findEntry,
  HEADER_BYTES,
  type Header,
  type Section,
  type TileDirectory,
  tileId,
} from './format.ts'

/** The root and two layers of leaves hold more tiles than there are; one more for archives that are badly built. */
const DIRECTORIES_MAX = 4
/** Entries of all opened leaf directories together; 32 bytes each. */
const CACHED_ENTRIES_MAX = 1 << 20

interface Ids {
  readonly from: number
  readonly to: number
}

interface DirectoryWalk {
  readonly options: ReadOptions
  readonly onStep: () => void
}

export interface PmtilesDependencies {
  readonly runtime: Runtime
  readonly disk: Disk
  readonly inflate: Inflate
}

/** Opens the archive; `pack_corrupt` if its header or root directory cannot be right. */
export async function openPmtiles(machine: PmtilesDependencies, path: string): Promise<PmtilesPack> {
  const file = await machine.disk.open(path, { mode: 'read' })
  try {
    const fileBytes = await file.size()
    const header = decodeHeader(
      await readSection(file, { offset: 0, length: Math.min(HEADER_BYTES, fileBytes) }),
      fileBytes,
    )
    const root = await readDirectory(machine, file, header, header.root)
    return new PmtilesPack(machine, file, header, root)
  } catch (error) {
    await file.close()
    throw error
  }
}

export class PmtilesPack extends Closeable implements Pack {
  readonly facts: PackFacts
  readonly file: DiskFile
  readonly #machine: PmtilesDependencies
  readonly #header: Header
  readonly #root: TileDirectory
  /** By offset; a map keeps the order in which they were last used. */
  readonly #leaves = new Map<number, TileDirectory>()
  #cachedEntries = 0

  constructor(machine: PmtilesDependencies, file: DiskFile, header: Header, root: TileDirectory) {
    super(machine.runtime, `pack ${file.path}`)
    this.facts = header.facts
    this.#machine = machine
    this.file = file
    this.#header = header
    this.#root = root
  }

  async tile(z: number, x: number, y: number, { deadline }: ReadOptions): Promise<MapTile | undefined> {
    const { minZoom, maxZoom } = this.facts
    if (z < minZoom || z > maxZoom || !isTilePlace(z, x, y)) return undefined
    const id = tileId(z, x, y)
    let directory = this.#root
    for (let depth = 1; depth <= DIRECTORIES_MAX; depth += 1) {
      const entry = findEntry(directory, id)
      if (entry === undefined) return undefined
      const { kind, offset, length } = entry
      if (kind === 'tile') return await this.#readTile(offset, length)
      deadline.throwIfExpired('pack')
      directory = this.#leaves.get(offset) ?? (await this.#openLeaf(offset, length))
      this.#use(offset, directory)
    }
    throw tooDeep()
  }

  async metadata(): Promise<Readonly<Record<string, unknown>>> {
    const { metadata, inner } = this.#header
    if (metadata.length === 0) return {}
    const bytes = await opened(this.#machine.inflate, inner, await readSection(this.file, metadata), METADATA_BYTES_MAX)
    return parseMetadata(bytes)
  }

  /** Reads every directory, and the metadata. */
  async verify(options: ReadOptions, onStep: () => void): Promise<PackCount> {
    await this.metadata()
    const all = { from: 0, to: Number.MAX_SAFE_INTEGER }
    return { tiles: await this.#countTiles(this.#root, 1, all, { options, onStep }) }
  }

  async #countTiles(directory: TileDirectory, depth: number, { from, to }: Ids, walk: DirectoryWalk): Promise<number> {
    if (depth > DIRECTORIES_MAX) throw tooDeep()
    walk.options.deadline.throwIfExpired('pack')
    walk.onStep()
    let tiles = 0
    for (let at = 0; at < directory.count; at += 1) {
      const [id = 0, run = 0] = [directory.ids[at], directory.runs[at]]
      if (id < from || id + run > to) throw corrupt(`A leaf directory tells of tile ${id}, which is not its own.`)
      tiles += run
      if (run > 0) continue
      const leaf = await this.#openLeaf(directory.offsets[at] ?? 0, directory.lengths[at] ?? 0)
      tiles += await this.#countTiles(leaf, depth + 1, { from: id, to: directory.ids[at + 1] ?? to }, walk)
    }
    return tiles
  }

  async #readTile(offset: number, length: number): Promise<MapTile> {
    const bytes = await readSection(this.file, within(this.#header.tiles, offset, length))
    return { bytes, coding: this.#header.tileCoding }
  }

  async #openLeaf(offset: number, length: number): Promise<TileDirectory> {
    return await readDirectory(this.#machine, this.file, this.#header, within(this.#header.leaves, offset, length))
  }

  /** Moves the leaf to the young end and lets the oldest go. */
  #use(offset: number, directory: TileDirectory): void {
    if (this.#leaves.delete(offset)) this.#cachedEntries -= directory.count
    this.#leaves.set(offset, directory)
    this.#cachedEntries += directory.count
    for (const [oldest, { count }] of this.#leaves) {
      if (this.#cachedEntries <= CACHED_ENTRIES_MAX || oldest === offset) return
      this.#leaves.delete(oldest)
      this.#cachedEntries -= count
    }
  }

  protected async release(): Promise<void> {
    this.#leaves.clear()
    await this.file.close()
  }
}

function tooDeep(): CairnError {
  return corrupt(`Leaf directories lie more than ${DIRECTORIES_MAX} deep.`)
}

async function readDirectory(
  { inflate }: PmtilesDependencies,
  file: DiskFile,
  { inner, tiles, leaves, facts }: Header,
  section: Section,
): Promise<TileDirectory> {
  const bytes = await opened(inflate, inner, await readSection(file, section), DIRECTORY_BYTES_MAX)
  return decodeDirectory(bytes, { tiles, leaves, maxZoom: facts.maxZoom })
}

function within(section: Section, offset: number, length: number): Section {
  return { offset: section.offset + offset, length }
}

async function readSection(file: DiskFile, { offset, length }: Section): Promise<Uint8Array> {
  const bytes = new Uint8Array(length)
  const read = await file.read(offset, bytes)
  if (read < length) throw corrupt(`The file ends at byte ${offset + read}, in the middle of what it tells of.`)
  return bytes
}

async function opened(inflate: Inflate, coding: TileCoding, bytes: Uint8Array, bytesMax: number): Promise<Uint8Array> {
  if (coding === 'identity') return bytes
  try {
    return await inflate(coding, bytes, bytesMax)
  } catch (error) {
    throw corrupt(`A part of the archive is not ${coding}, or opens to more than ${bytesMax} bytes.`, error)
  }
}

function parseMetadata(bytes: Uint8Array): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (error) {
    throw corrupt('The metadata is not JSON.', error)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw corrupt('The metadata is no object.')
  return value as Record<string, unknown>
}
