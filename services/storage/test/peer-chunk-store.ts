import type { CopyClient } from '@cairn/clients'
import { CairnError, type Clock, Deadline, isKind } from '@cairn/kernel'
import type { ChunkBytes } from '@cairn/store'
import { CHUNK_BYTES_MAX } from '@cairn/store'
import type { ChunkPut, ChunkStore } from '@cairn/store/testing'
import { type Address, addressOf } from '@cairn/wire'

/** Ids in one question to a peer. */
const ASK_MAX = 8192
const NOTHING = new Uint8Array(0)
const NOTHING_ID = addressOf(NOTHING)

/** The chunks of another node, as one of the places chunks can be kept. */
export class PeerChunkStore implements ChunkStore {
  readonly #clock: Clock
  readonly #client: CopyClient
  readonly #timeoutMs: number

  constructor(clock: Clock, client: CopyClient, timeoutMs: number) {
    this.#clock = clock
    this.#client = client
    this.#timeoutMs = timeoutMs
  }

  async missing(ids: readonly Address[], upload: string): Promise<Address[]> {
    const missing: Address[] = []
    for (let at = 0; at < ids.length; at += ASK_MAX) {
      const place = { object: NOTHING_ID, upload }
      missing.push(...(await this.#client.missing(ids.slice(at, at + ASK_MAX), place, this.#call())))
    }
    return missing
  }

  async put(id: Address, bytes: Uint8Array, { upload, signal }: ChunkPut): Promise<'new' | 'present'> {
    if (bytes.length > CHUNK_BYTES_MAX)
      throw new CairnError('TooLarge', `A chunk has at most ${CHUNK_BYTES_MAX} bytes; this one has ${bytes.length}.`)
    const actual = addressOf(bytes)
    if (actual !== id)
      throw new CairnError('Conflict', `These bytes are ${actual}, not ${id}.`, { code: 'address_mismatch' })
    const isNew = await this.#client.putChunk(id, bytes, upload, { ...this.#call(), signal })
    return isNew ? 'new' : 'present'
  }

  async read(id: Address): Promise<ChunkBytes | undefined> {
    try {
      const bytes = await this.#client.chunk(id, this.#call())
      if (addressOf(bytes) === id) return { bytes, [Symbol.dispose]: () => undefined }
    } catch (error) {
      if (isKind(error, 'NotFound')) return undefined
      throw error
    }
    throw new CairnError('Integrity', `The bytes that a peer sent are not those of ${id}.`)
  }

  async remove(id: Address): Promise<boolean> {
    return await this.#client.removeChunk(id, this.#call())
  }

  async list(after: Address | undefined, limit: number): Promise<Address[]> {
    const found: Address[] = []
    while (found.length < limit) {
      const page = await this.#client.listChunks(
        found.at(-1) ?? after,
        Math.min(1000, limit - found.length),
        this.#call(),
      )
      if (page.length === 0) break
      found.push(...page)
    }
    return found
  }

  #call(): { readonly deadline: Deadline } {
    return { deadline: Deadline.after(this.#clock, this.#timeoutMs) }
  }
}
