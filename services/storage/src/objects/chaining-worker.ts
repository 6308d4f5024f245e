/** What a commit hashes, on a worker thread. */
import { type Address, chainingValue, decodeManifest, type Manifest } from '@cairn/wire'

const LEAF_BYTES = 1024
const DIGEST_BYTES = 32

export interface ChunkRun {
  /** Consecutive chunks, one after the other. */
  readonly bytes: Uint8Array
  readonly chunkSize: number
  /** Where in the object the first one stands. */
  readonly first: number
}

/** The chaining value of each chunk, packed. */
export function chainingValues({ bytes, chunkSize, first }: ChunkRun): Uint8Array {
  const count = Math.ceil(bytes.length / chunkSize)
  const values = new Uint8Array(count * DIGEST_BYTES)
  for (let at = 0; at < count; at += 1) {
    const chunk = bytes.subarray(at * chunkSize, (at + 1) * chunkSize)
    values.set(chainingValue(chunk, ((first + at) * chunkSize) / LEAF_BYTES), at * DIGEST_BYTES)
  }
  return values
}

export interface EncodedManifest {
  readonly bytes: Uint8Array
  readonly id: Address
}

export function readManifest({ bytes, id }: EncodedManifest): Manifest {
  return decodeManifest(bytes, id)
}
