/**
 * Walks a whole remote log: everything it publishes is fetched, recomputed and held against the rest.
 *
 *     checkpoint ──────────────────────────────────────────┐
 *     entries ─▶ hashes ─▶ tree ─▶ tiles, as published? ─▶ root, as signed?     the pin lies on the way
 *        └─▶ replay: every leaf by the rules ─▶ HEAD, as the registry tells it?
 *
 * The first entry that is wrong ends it, and is named.
 */
import type { RegistryHead } from '@cairn/clients'
import { CairnError } from '@cairn/kernel'
import { LogReplay, type MadeVersion, type Pin } from '@cairn/names'
import {
  HASH_BYTES,
  type Hash,
  leafHash,
  type SignatureVerifier,
  TILE_WIDTH,
  type TileContent,
  TileWriter,
  tilePath,
} from '@cairn/tlog'
import { equalBytes } from '@cairn/wire'
import type { RegistryConnection } from './registry-service.ts'

export interface WalkOptions {
  readonly origin: string
  /** Of the checkpoint. */
  readonly size: number
  readonly root: Hash
  /** HEAD as the registry told it before the checkpoint was fetched. */
  readonly head: RegistryHead
  /** The tree that was seen before. */
  readonly pin: Pin | undefined
  readonly verifier: SignatureVerifier
  readonly onProgress: (entries: number) => void
}

export interface LogWalk {
  /** Nothing is wrong, or what is, at which entry; no entry where it cannot be told. */
  readonly bad: { readonly index: number | undefined; readonly detail: string } | undefined
  /** Entries that were fetched and hashed. */
  readonly entries: number
  /** Entries below this one were removed by retention; their hashes are in the tree. */
  readonly minimumIndex: number
  readonly tiles: number
  readonly replay: LogReplay
}

/** Walks the log up to the checkpoint's size. Throws only where the registry cannot be asked. */
export async function walkLog(registry: RegistryConnection, options: WalkOptions): Promise<LogWalk> {
  const walker = new Walker(registry, options)
  try {
    await walker.run()
  } catch (error) {
    if (!(error instanceof BadLog)) throw error
    return walker.report({ index: error.index, detail: error.message })
  }
  return walker.report(undefined)
}

/** Ends the walk. */
class BadLog extends Error {
  readonly index: number | undefined

  constructor(index: number | undefined, detail: string) {
    super(detail)
    this.index = index
  }
}

class Walker {
  readonly #registry: RegistryConnection
  readonly #options: WalkOptions
  readonly #replay: LogReplay
  readonly #tree = TileWriter.empty()
  #entries = 0
  #minimumIndex = 0
  #tiles = 0
  #sawHead = false

  constructor(registry: RegistryConnection, options: WalkOptions) {
    this.#registry = registry
    this.#options = options
    const payloadOf = async (version: number) => (await registry.client.version(version, registry.call())).payload
    this.#replay = new LogReplay(options.origin, options.verifier, payloadOf)
  }

  report(bad: LogWalk['bad']): LogWalk {
    return {
      bad,
      entries: this.#entries,
      minimumIndex: this.#minimumIndex,
      tiles: this.#tiles,
      replay: this.#replay,
    }
  }

  async run(): Promise<void> {
    const { size, root, head } = this.#options
    for (let start = 0; start < size; start += TILE_WIDTH) {
      await this.#takeBundle(start, Math.min(TILE_WIDTH, size - start))
      this.#options.onProgress(Math.min(size, start + TILE_WIDTH))
    }
    for (const content of this.#tree.partialTiles()) await this.#holdTile(content)
    if (!equalBytes(this.#tree.root(), root))
      throw new BadLog(undefined, `The ${size} entries have another root than the checkpoint was signed for.`)
    this.#holdMinimum()
    if (!this.#sawHead && this.#replay.isWhole)
      throw new BadLog(
        undefined,
        `The registry says that HEAD is version ${head.version}, ${head.hash}; its log does not.`,
      )
  }

  async #takeBundle(start: number, width: number): Promise<void> {
    const index = start / TILE_WIDTH
    const published = await this.#tile({ level: 0, index, width })
    const entries = await this.#bundle(start, width)
    for (let at = 0; at < width; at += 1) {
      const hash = published.slice(at * HASH_BYTES, (at + 1) * HASH_BYTES)
      const entry = entries?.[at]
      if (entry !== undefined) await this.#takeEntry(start + at, entry, hash)
      await this.#append(hash)
    }
  }

  async #takeEntry(index: number, entry: Uint8Array, hash: Hash): Promise<void> {
    if (!equalBytes(leafHash(entry), hash))
      throw new BadLog(index, `Entry ${index} is not the one its tile was made of.`)
    try {
      await this.#replay.take(index, entry)
    } catch (error) {
      throw this.#unlessOurs(error, index, `Entry ${index} breaks the rules of the registry`)
    }
    this.#entries += 1
    const { made } = this.#replay
    if (this.#sawHead || made === undefined || made.version !== this.#options.head.version) return
    this.#sawHead = true
    this.#holdHead(index, made)
  }

  /** Everything the registry tells of HEAD is what its log makes of that version. */
  #holdHead(index: number, made: MadeVersion): void {
    const { head, origin } = this.#options
    const pairs = [
      ['hash', made.hash, head.hash],
      ['payload_b3', made.payload_b3 ?? head.payload_b3, head.payload_b3],
      ['committed_at', made.committed_at, head.committed_at],
      ['log_index', made.log_index, head.log_index],
      ['origin', origin, head.origin],
    ] as const
    for (const [field, found, told] of pairs) {
      if (found === told) continue
      const detail = `Entry ${index} makes version ${head.version}: its ${field} is ${found}, but the registry tells ${told}.`
      throw new BadLog(index, detail)
    }
  }

  /** Entries that are said to be removed are; more may have been removed since that was said. */
  #holdMinimum(): void {
    const told = this.#options.head.minimum_index
    if (told <= this.#minimumIndex) return
    throw new BadLog(undefined, `The registry says that entries below ${told} were removed, and serves them.`)
  }

  /** Adds a leaf; every tile that this makes full is held against the published one. */
  async #append(hash: Hash): Promise<void> {
    // The tile of level 0 is where the hash came from, or what the entry was held against.
    for (const content of this.#tree.append(hash)) if (content.tile.level !== 0) await this.#holdTile(content)
    const { pin } = this.#options
    if (pin === undefined || this.#tree.size !== pin.size || equalBytes(this.#tree.root(), pin.root)) return
    const detail = `The first ${pin.size} entries are not those that were seen before: the log has shown two histories.`
    throw new BadLog(undefined, detail)
  }

  async #holdTile({ tile, bytes }: TileContent): Promise<void> {
    if (tile.level === 0 || tile.level === 'entries') return
    const { level, index, width } = tile
    const published = await this.#tile({ level, index, width })
    for (let at = 0; at < width; at += 1) {
      const [from, to] = [at * HASH_BYTES, (at + 1) * HASH_BYTES]
      if (equalBytes(published.subarray(from, to), bytes.subarray(from, to))) continue
      const span = TILE_WIDTH ** level
      const first = (index * TILE_WIDTH + at) * span
      throw new BadLog(first, `${tilePath(tile)} does not match the entries ${first} to ${first + span - 1} below it.`)
    }
  }

  async #tile(tile: { readonly level: number; readonly index: number; readonly width: number }): Promise<Uint8Array> {
    const { client, call } = this.#registry
    try {
      const bytes = await client.tile(tile, call())
      this.#tiles += 1
      return bytes
    } catch (error) {
      throw this.#unlessOurs(error, tile.index * TILE_WIDTH ** (tile.level + 1), `${tilePath(tile)} is not to be had`)
    }
  }

  /** The entries of a bundle; nothing if they were removed. */
  async #bundle(start: number, width: number): Promise<readonly Uint8Array[] | undefined> {
    const { client, call } = this.#registry
    try {
      return await client.entries(start / TILE_WIDTH, width, call())
    } catch (error) {
      const isPruned = error instanceof CairnError && error.status === 410
      if (!isPruned || this.#entries > 0)
        throw this.#unlessOurs(error, start, `The entries from ${start} on are not to be had`)
      this.#replay.skip()
      this.#minimumIndex = start + width
      return undefined
    }
  }

  /** What the registry served is wrong; a network that fails says nothing about the log. */
  #unlessOurs(error: unknown, index: number, what: string): unknown {
    if (error instanceof BadLog || !(error instanceof CairnError)) return error
    const isAboutLog = ['Integrity', 'Malformed', 'NotFound', 'TooLarge'].includes(error.kind)
    return isAboutLog || error.code === 'bad_answer' ? new BadLog(index, `${what}: ${error.message}`) : error
  }
}
