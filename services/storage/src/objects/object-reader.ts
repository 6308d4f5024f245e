/**
 * Objects out of chunks: which chunk a byte is in, and the chunk's bytes, proved.
 *
 *     object record ─▶ page (1024 chunk ids) ─▶ chunk        an object of one chunk is found under its own address
 */
import { CairnError, isKind, type Runtime, toCairnError } from '@cairn/kernel'
import {
  type ChunkBytes,
  chunksOf,
  type DriveStore,
  type HoldCounts,
  type ObjectFacts,
  PAGE_CHUNKS,
} from '@cairn/store'
import { type Address, addressFromDigest, createManifest, type Manifest } from '@cairn/wire'
import { partGone, readFailed } from '../errors.ts'
import { type ChunkWindow, recut } from './window-core.ts'

const FROM_MEMORY = { tier: 'memory' }
const FROM_DISK = { tier: 'disk' }

/** Which object a chunk is read for, and which of its chunks it is; pages of the list of chunks are none of them. */
export type ChunkReadPurpose =
  | { readonly object: Address; readonly chunk: undefined }
  /** With what is known of the object: how it is cut into chunks, and whether it is erasure-coded. */
  | { readonly object: Address; readonly chunk: number; readonly facts: ObjectFacts }

/** Where the bytes of objects come from. */
export interface ChunkSource {
  /** The proved bytes, if they are in memory. */
  cached(id: Address): ChunkBytes | undefined
  /** The bytes, proved; `undefined` if there is no such chunk. `Integrity` if what is there is not the chunk. */
  read(id: Address, use?: ChunkReadPurpose): Promise<ChunkBytes | undefined>
}

/** Chunks of one drive as the service reads them: counted, and a damaged one is reported the moment it is found. */
export class ChunkReader implements ChunkSource {
  readonly #runtime: Runtime
  readonly #chunks: DriveStore['chunks']
  readonly #onDamaged: (id: Address) => void

  constructor(runtime: Runtime, chunks: DriveStore['chunks'], onDamaged: (id: Address) => void) {
    this.#runtime = runtime
    this.#chunks = chunks
    this.#onDamaged = onDamaged
  }

  cached(id: Address): ChunkBytes | undefined {
    const held = this.#chunks.cached(id)
    if (held !== undefined) this.#runtime.metrics.count('chunks_read_total', FROM_MEMORY)
    return held
  }

  async read(id: Address): Promise<ChunkBytes | undefined> {
    const cached = this.cached(id)
    if (cached !== undefined) return cached
    try {
      const held = await this.#chunks.read(id)
      if (held !== undefined) this.#runtime.metrics.count('chunks_read_total', FROM_DISK)
      return held
    } catch (error) {
      if (isKind(error, 'Integrity')) this.#onDamaged(id)
      throw isKind(error, 'Internal') ? readFailed(toCairnError(error)) : error
    }
  }
}

/** Which objects there are, and who keeps them: of one drive, or of all targets together. `ObjectStore` is one. */
export interface ObjectCatalog {
  /** The same as `stat` gave lately, at once; nothing if that is not known. */
  statRecent(id: Address): ObjectFacts | undefined
  stat(id: Address): Promise<ObjectFacts | undefined>
  /** Ids in order, after the given one, of what is on this node. */
  list(after: Address | undefined, limit: number): Promise<Address[]>
  /** Whether there was one. `Conflict` `referenced` while anybody holds it. */
  remove(id: Address): Promise<boolean>
  hold(owner: string, id: Address): Promise<void>
  release(owner: string, id: Address): Promise<boolean>
  /** Holds as many of these as there are; durable, and written only where the owner does not hold them yet. */
  holdAll(owner: string, ids: readonly Address[]): Promise<HoldCounts>
  /** How many of these the owner held. */
  releaseAll(owner: string, ids: readonly Address[]): Promise<number>
}

const MANIFEST_DIGEST_BYTES = 32

/** The manifest of an object here. `single_chunk` if its one chunk is the object. */
export async function readStoredManifest(reader: ObjectReader, object: LocatedObject): Promise<Manifest> {
  const { size, chunkSize, pages } = object.facts
  if (pages.length === 0) {
    const detail = `${object.id} is one chunk; its address is all the proof it needs.`
    throw new CairnError('NotFound', detail, { code: 'single_chunk' })
  }
  const count = Math.ceil(size / chunkSize)
  const chunkIds = new Uint8Array(count * MANIFEST_DIGEST_BYTES)
  const chainingValues = new Uint8Array(count * MANIFEST_DIGEST_BYTES)
  let at = 0
  for await (const page of reader.chunkList(object)) {
    for (const { id, chainingValue } of page) {
      chunkIds.set(id, at)
      chainingValues.set(chainingValue, at)
      at += MANIFEST_DIGEST_BYTES
    }
  }
  return createManifest({ size, chunkSize, chunkIds, chainingValues })
}

const DIGEST_BYTES = 32

type ListedChunk = ReturnType<typeof chunksOf> extends Iterable<infer Chunk> ? Chunk : never

export interface LocatedObject {
  readonly id: Address
  readonly facts: ObjectFacts
}

/** The bytes of a window, held until disposed. */
export interface LoadedWindow extends Disposable {
  readonly pieces: readonly Uint8Array[]
}

/** Where it is known which objects there are. */
export interface ObjectLookup {
  stat(id: Address): Promise<ObjectFacts | undefined>
}

export class ObjectReader {
  readonly #objects: ObjectLookup
  readonly #chunks: ChunkSource

  constructor(objects: ObjectLookup, chunks: ChunkSource) {
    this.#objects = objects
    this.#chunks = chunks
  }

  async find(id: Address): Promise<LocatedObject | undefined> {
    const facts = await this.#objects.stat(id)
    return facts === undefined ? undefined : { id, facts }
  }

  /** The window, if every part of it is in memory: no disk, no queue. */
  loadHot(object: LocatedObject, window: ChunkWindow): LoadedWindow | undefined {
    const held: ChunkBytes[] = []
    for (const { chunk } of window) {
      const id = this.#hotChunkId(object, chunk)
      const bytes = id === undefined ? undefined : this.#chunks.cached(id)
      if (bytes === undefined) {
        for (const each of held) each[Symbol.dispose]()
        return undefined
      }
      held.push(bytes)
    }
    return loaded(window, held)
  }

  /** The window, proved. Of an object that was put again in chunks of another size since, it is made of those. */
  async load(object: LocatedObject, window: ChunkWindow): Promise<LoadedWindow> {
    try {
      return await this.#load(object, window)
    } catch (error) {
      const now = isKind(error, 'Integrity') ? await this.find(object.id) : undefined
      const { chunkSize } = object.facts
      if (now === undefined || now.facts.chunkSize === chunkSize) throw error
      return await this.#load(now, recut(window, chunkSize, now.facts.chunkSize))
    }
  }

  async #load(object: LocatedObject, window: ChunkWindow): Promise<LoadedWindow> {
    const held: ChunkBytes[] = []
    try {
      for (const { chunk } of window)
        held.push(
          await this.#present(await this.#chunkId(object, chunk), { object: object.id, chunk, facts: object.facts }),
        )
      return loaded(window, held)
    } catch (error) {
      for (const each of held) each[Symbol.dispose]()
      throw error
    }
  }

  /** Ids and chaining values of every chunk, page by page; nothing for an object of one chunk. */
  async *chunkList({ id, facts }: LocatedObject): AsyncGenerator<readonly ListedChunk[]> {
    for (let page = 0; page * DIGEST_BYTES < facts.pages.length; page += 1) {
      using held = await this.#present(pageId(facts, page), { object: id, chunk: undefined })
      yield [...chunksOf(held.bytes)]
    }
  }

  #hotChunkId({ id, facts }: LocatedObject, chunk: number): Address | undefined {
    if (facts.pages.length === 0) return id
    using page = this.#chunks.cached(pageId(facts, Math.floor(chunk / PAGE_CHUNKS)))
    return page === undefined ? undefined : idOnPage(page, chunk)
  }

  async #chunkId({ id, facts }: LocatedObject, chunk: number): Promise<Address> {
    if (facts.pages.length === 0) return id
    const use = { object: id, chunk: undefined }
    using page = await this.#present(pageId(facts, Math.floor(chunk / PAGE_CHUNKS)), use)
    return idOnPage(page, chunk)
  }

  async #present(id: Address, use: ChunkReadPurpose): Promise<ChunkBytes> {
    const bytes = await this.#chunks.read(id, use)
    if (bytes === undefined) throw partGone(id)
    return bytes
  }
}

function pageId({ pages }: ObjectFacts, page: number): Address {
  return addressFromDigest(pages.subarray(page * DIGEST_BYTES, (page + 1) * DIGEST_BYTES))
}

function idOnPage({ bytes }: ChunkBytes, chunk: number): Address {
  const at = (chunk % PAGE_CHUNKS) * 2 * DIGEST_BYTES
  return addressFromDigest(bytes.slice(at, at + DIGEST_BYTES))
}

function loaded(window: ChunkWindow, held: readonly ChunkBytes[]): LoadedWindow {
  const pieces = window.map(({ from, to }, at) => (held[at]?.bytes ?? new Uint8Array()).subarray(from, to))
  return {
    pieces,
    [Symbol.dispose]: () => {
      for (const each of held) each[Symbol.dispose]()
    },
  }
}
