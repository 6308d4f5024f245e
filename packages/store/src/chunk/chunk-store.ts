import { CairnError, type Clock, type WaitOptions } from '@cairn/kernel'
import { type Address, addressOf } from '@cairn/wire'
import type { ChunkBytes } from './chunk-cache.ts'
import { createLeases, type LeaseCore, lease } from './lease-core.ts'

/** Chunks in a map, gone with the process. Full at `capacityBytes`. */
export class MemoryChunkStore implements ChunkStore {
  readonly #clock: Clock
  readonly #leases: LeaseCore
  readonly #capacityBytes: number
  readonly #chunks = new Map<Address, Uint8Array>()
  #bytes = 0

  constructor(clock: Clock, capacityBytes: number, leaseMs: number) {
    this.#clock = clock
    this.#capacityBytes = capacityBytes
    this.#leases = createLeases(leaseMs, clock.now())
  }

  async missing(ids: readonly Address[], upload: string): Promise<Address[]> {
    return await Promise.try(() => {
      for (const id of ids) if (this.#chunks.has(id)) lease(this.#leases, upload, id, this.#clock.now())
      return ids.filter((id) => !this.#chunks.has(id))
    })
  }

  async put(id: Address, bytes: Uint8Array, { upload }: ChunkPut): Promise<'new' | 'present'> {
    return await Promise.try(() => {
      lease(this.#leases, upload, id, this.#clock.now())
      if (this.#chunks.has(id)) return 'present'
      checkChunk(id, bytes)
      if (this.#bytes + bytes.length > this.#capacityBytes) throw memoryFull()
      this.#chunks.set(id, bytes.slice())
      this.#bytes += bytes.length
      return 'new'
    })
  }

  async read(id: Address): Promise<ChunkBytes | undefined> {
    return await Promise.try(() => {
      const bytes = this.#chunks.get(id)
      return bytes === undefined ? undefined : { bytes, [Symbol.dispose]: () => undefined }
    })
  }

  async remove(id: Address): Promise<boolean> {
    return await Promise.try(() => {
      this.#bytes -= this.#chunks.get(id)?.length ?? 0
      return this.#chunks.delete(id)
    })
  }

  async list(after: Address | undefined, limit: number): Promise<Address[]> {
    return await Promise.try(() => {
      const ids = [...this.#chunks.keys()].filter((id) => after === undefined || id > after)
      return ids.sort().slice(0, limit)
    })
  }
}

/** Throws unless the bytes are the chunk that the id names. */
export function checkChunk(id: Address, bytes: Uint8Array): void {
  if (bytes.length > CHUNK_BYTES_MAX) {
    throw new CairnError('TooLarge', `A chunk has at most ${CHUNK_BYTES_MAX} bytes; this one has ${bytes.length}.`)
  }
  const actual = addressOf(bytes)
  if (actual === id) return
  throw new CairnError('Conflict', `These bytes are ${actual}, not ${id}.`, { code: 'address_mismatch' })
}

function memoryFull(): CairnError {
  const detail = 'The memory set aside for chunks is full; delete something, or raise the limit.'
  return new CairnError('StorageBusy', detail, { code: 'no_space', status: 507 })
}

/** No chunk is larger; the format allows chunk sizes up to this. */
export const CHUNK_BYTES_MAX = 1024 * 1024

export interface ChunkPut extends WaitOptions {
  /** The upload that keeps the chunk until an object refers to it. */
  readonly upload: string
}

/**
 * Chunks by the hash of their bytes. One contract for every place they can be kept; `compliance.ts` holds each
 * implementation to it. A chunk exists from the moment its put resolves: never before it is durable.
 */
export interface ChunkStore {
  /** Those of the ids that do not exist here, in the order given. The others are leased to the upload in the same step. */
  missing(ids: readonly Address[], upload: string): Promise<Address[]>
  /** Stores the chunk; `present` if it already existed. `Conflict` when the bytes are not what the id says. */
  put(id: Address, bytes: Uint8Array, options: ChunkPut): Promise<'new' | 'present'>
  /** The bytes, proved against the id before they are handed out. Dispose them when done; `undefined` if there is no such chunk. */
  read(id: Address): Promise<ChunkBytes | undefined>
  /** Whether there was one to remove. */
  remove(id: Address): Promise<boolean>
  /** Ids in order, after the given one. */
  list(after: Address | undefined, limit: number): Promise<Address[]>
}
