/**
 * Objects out of chunks: which chunk a byte is in, and the chunk's bytes, proved.
 *
 *     object record ─▶ page (1024 chunk ids) ─▶ chunk        an object of one chunk is found under its own address
 */
import { isKind } from '@cairn/kernel'
import { type ChunkBytes, chunksOf, type ObjectFacts, PAGE_CHUNKS } from '@cairn/store'
import { type Address, addressFromDigest } from '@cairn/wire'
import { partGone } from '../errors.ts'
import type { ChunkSource, ChunkUse } from './chunk-reader.ts'
import { recut, type Window } from './window-core.ts'

const DIGEST_BYTES = 32

type PagedChunk = ReturnType<typeof chunksOf> extends Iterable<infer Chunk> ? Chunk : never

export interface StoredObject {
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

  async find(id: Address): Promise<StoredObject | undefined> {
    const facts = await this.#objects.stat(id)
    return facts === undefined ? undefined : { id, facts }
  }

  /** The window, if every part of it is in memory: no disk, no queue. */
  loadHot(object: StoredObject, window: Window): LoadedWindow | undefined {
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
  async load(object: StoredObject, window: Window): Promise<LoadedWindow> {
    try {
      return await this.#load(object, window)
    } catch (error) {
      const now = isKind(error, 'Integrity') ? await this.find(object.id) : undefined
      const { chunkSize } = object.facts
      if (now === undefined || now.facts.chunkSize === chunkSize) throw error
      return await this.#load(now, recut(window, chunkSize, now.facts.chunkSize))
    }
  }

  async #load(object: StoredObject, window: Window): Promise<LoadedWindow> {
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
  async *chunkList({ id, facts }: StoredObject): AsyncGenerator<readonly PagedChunk[]> {
    for (let page = 0; page * DIGEST_BYTES < facts.pages.length; page += 1) {
      using held = await this.#present(pageId(facts, page), { object: id, chunk: undefined })
      yield [...chunksOf(held.bytes)]
    }
  }

  #hotChunkId({ id, facts }: StoredObject, chunk: number): Address | undefined {
    if (facts.pages.length === 0) return id
    using page = this.#chunks.cached(pageId(facts, Math.floor(chunk / PAGE_CHUNKS)))
    return page === undefined ? undefined : idOnPage(page, chunk)
  }

  async #chunkId({ id, facts }: StoredObject, chunk: number): Promise<Address> {
    if (facts.pages.length === 0) return id
    const use = { object: id, chunk: undefined }
    using page = await this.#present(pageId(facts, Math.floor(chunk / PAGE_CHUNKS)), use)
    return idOnPage(page, chunk)
  }

  async #present(id: Address, use: ChunkUse): Promise<ChunkBytes> {
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

function loaded(window: Window, held: readonly ChunkBytes[]): LoadedWindow {
  const pieces = window.map(({ from, to }, at) => (held[at]?.bytes ?? new Uint8Array()).subarray(from, to))
  return {
    pieces,
    [Symbol.dispose]: () => {
      for (const each of held) each[Symbol.dispose]()
    },
  }
}
