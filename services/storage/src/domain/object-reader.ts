/**
 * The bytes of an object, chunk by chunk, each proved before it leaves.
 *
 *     range ─▶ windows of 1 MiB ─▶ one `work` job reads a window ─▶ handed out chunk by chunk, at the client's pace
 *
 * A worker is busy only while it reads: a slow client holds at most one window of memory and no worker.
 */
import { CairnError } from '@cairn/kernel'
import { type ChunkBytes, chunksOf, type ObjectFacts, PAGE_CHUNKS, type Storage } from '@cairn/store'
import { type Address, addressFromDigest, type ByteRange } from '@cairn/wire'

const DIGEST_BYTES = 32
const WINDOW_BYTES = 1024 * 1024

export interface StoredObject {
  readonly id: Address
  readonly facts: ObjectFacts
}

/** Where a chunk's part of a range begins and ends within the chunk. */
interface Piece {
  readonly chunk: number
  readonly from: number
  readonly to: number
}

/** Runs a read of the disk in the pool; retried by the reader if the pool is full in the middle of an answer. */
export type InPool = <T>(read: () => Promise<T>) => Promise<T>

export class ObjectReader {
  readonly #storage: Storage

  constructor(storage: Storage) {
    this.#storage = storage
  }

  /** The bytes, if all of them are in memory: no disk, no queue. For objects of one chunk. */
  hot(id: Address): ChunkBytes | undefined {
    return this.#storage.chunks.cached(id)
  }

  /** The range, in order. Each piece is valid until the next one is asked for. */
  async *read(object: StoredObject, range: ByteRange, inPool: InPool): AsyncGenerator<Uint8Array> {
    for (const window of windowsOf(object, range)) {
      const held = await inPool(async () => await this.#readWindow(object, window))
      try {
        for (const { bytes, from, to } of held) yield bytes.bytes.subarray(from, to)
      } finally {
        for (const { bytes } of held) bytes[Symbol.dispose]()
      }
    }
  }

  /** One chunk by its place in the object. */
  async readChunk(object: StoredObject, chunk: number): Promise<ChunkBytes> {
    return await this.#chunk(await this.#chunkId(object, chunk))
  }

  async #readWindow(object: StoredObject, window: readonly Piece[]) {
    const held: { bytes: ChunkBytes; from: number; to: number }[] = []
    try {
      for (const { chunk, from, to } of window) {
        held.push({ bytes: await this.readChunk(object, chunk), from, to })
      }
      return held
    } catch (error) {
      for (const { bytes } of held) bytes[Symbol.dispose]()
      throw error
    }
  }

  async #chunkId({ id, facts }: StoredObject, chunk: number): Promise<Address> {
    if (facts.pages.length === 0) return id
    const page = Math.floor(chunk / PAGE_CHUNKS)
    const pageId = addressFromDigest(facts.pages.subarray(page * DIGEST_BYTES, (page + 1) * DIGEST_BYTES))
    using held = await this.#chunk(pageId)
    const at = (chunk % PAGE_CHUNKS) * 2 * DIGEST_BYTES
    return addressFromDigest(held.bytes.slice(at, at + DIGEST_BYTES))
  }

  async #chunk(id: Address): Promise<ChunkBytes> {
    const bytes = await this.#storage.chunks.read(id)
    if (bytes !== undefined) return bytes
    throw new CairnError('Integrity', `A part of the object, ${id}, is gone; repair it or put the object again.`)
  }
}

function* windowsOf({ facts }: StoredObject, { first, last }: ByteRange): Iterable<Piece[]> {
  let window: Piece[] = []
  let bytes = 0
  for (let at = first; at <= last; ) {
    const chunk = Math.floor(at / facts.chunkSize)
    const from = at - chunk * facts.chunkSize
    const to = Math.min(facts.chunkSize, last + 1 - chunk * facts.chunkSize)
    window.push({ chunk, from, to })
    bytes += to - from
    at += to - from
    if (bytes >= WINDOW_BYTES || at > last) {
      yield window
      window = []
      bytes = 0
    }
  }
}

/** Every chunk id and chaining value, in order; for manifests. */
export async function* chunkList(storage: Storage, { facts }: StoredObject): AsyncGenerator<ReturnType<typeof listOf>> {
  for (let at = 0; at < facts.pages.length; at += DIGEST_BYTES) {
    const pageId = addressFromDigest(facts.pages.subarray(at, at + DIGEST_BYTES))
    using page = await storage.chunks.read(pageId)
    if (page === undefined) throw new CairnError('Integrity', `A page of the object, ${pageId}, is gone.`)
    yield listOf(page.bytes)
  }
}

function listOf(page: Uint8Array) {
  return [...chunksOf(page)]
}
