import type { WaitOptions } from '@cairn/kernel'
import type { Address } from '@cairn/wire'
import type { ChunkBytes } from '../cache/chunk-bytes.ts'

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
