/**
 * The manifest of an object of two or more chunks: which chunks it has, and the chaining values that prove each of
 * them against the object's address.
 *
 *   object   │ chunk 0 │ chunk 1 │ … │ last, shorter │        chunkIds[i]         the chunk's own hash: where to find it
 *                 ↓         ↓              ↓                  chainingValues[i]   its node in the object's tree
 *   cvs      │  cv 0   │  cv 1   │ … │     cv n      │
 *                 └─────────┴── fold ──────┘  =  id
 *
 * `fold(cvs) === id` is checked whenever a manifest is made or read, so the chaining values of a `Manifest` in hand are
 * proven. The rest is a claim until bytes bear it out: a chunk id is only a name to ask for, and what arrives under it is
 * checked against the chaining value; `chunkSize` is proven by the first chunk that verifies and `size` by the last one
 * (an exact length is part of what the last chaining value binds).
 * Lists are packed, 32 bytes an item: a 64 GiB object has a million of each.
 */
import { CairnError } from '@cairn/kernel'
import { type Address, addressFromDigest } from './address.ts'
import { chainingValue, fold } from './blake3/chaining.ts'
import { DIGEST_BYTES, LEAF_BYTES } from './blake3/constants.ts'
import { equalBytes } from './bytes.ts'

export const DEFAULT_CHUNK_BYTES = 65_536
const MIN_CHUNK_BYTES = 16_384
const MAX_CHUNK_BYTES = 1_048_576

export interface Manifest {
  readonly id: Address
  readonly size: number
  readonly chunkSize: number
  readonly chunkCount: number
  readonly chunkIds: Uint8Array
  readonly chainingValues: Uint8Array
}

/** Refuses a chunk size that is not a power of two from 16 KiB to 1 MiB. */
export function assertChunkSize(chunkSize: number): void {
  const inRange = chunkSize >= MIN_CHUNK_BYTES && chunkSize <= MAX_CHUNK_BYTES
  if (!inRange || !Number.isInteger(Math.log2(chunkSize))) {
    throw new CairnError('Malformed', `A chunk size is a power of two from 16 KiB to 1 MiB, not ${chunkSize}.`)
  }
}

/** The manifest with these parts, its id computed; refuses parts that do not belong together. */
export function createManifest(parts: {
  readonly size: number
  readonly chunkSize: number
  readonly chunkIds: Uint8Array
  readonly chainingValues: Uint8Array
}): Manifest {
  const { size, chunkSize, chunkIds, chainingValues } = parts
  assertChunkSize(chunkSize)
  if (!Number.isSafeInteger(size) || size <= chunkSize) {
    const detail = `An object of ${size} bytes has no manifest in chunks of ${chunkSize}: one chunk is its own proof.`
    throw new CairnError('Malformed', detail, { code: 'single_chunk' })
  }
  const chunkCount = Math.ceil(size / chunkSize)
  for (const list of [chunkIds, chainingValues]) {
    if (list.length !== chunkCount * DIGEST_BYTES) {
      const found = list.length / DIGEST_BYTES
      throw new CairnError('Malformed', `${size} bytes are ${chunkCount} chunks of ${chunkSize}; ${found} are listed.`)
    }
  }
  return { id: addressFromDigest(fold(chainingValues)), size, chunkSize, chunkCount, chunkIds, chainingValues }
}

/** How many bytes the chunk at `index` has: the chunk size, or what is left for the last one. */
export function chunkLength(manifest: Manifest, index: number): number {
  if (!Number.isInteger(index) || index < 0 || index >= manifest.chunkCount) {
    throw new CairnError('Malformed', `There is no chunk ${index}: the object has ${manifest.chunkCount}.`)
  }
  return Math.min(manifest.chunkSize, manifest.size - index * manifest.chunkSize)
}

/** The address under which the chunk at `index` is stored. */
export function chunkAddress(manifest: Manifest, index: number): Address {
  chunkLength(manifest, index)
  return addressFromDigest(manifest.chunkIds.subarray(index * DIGEST_BYTES, (index + 1) * DIGEST_BYTES))
}

/** Throws `Integrity` unless `bytes` are exactly the object's bytes at this place, whoever sent them. */
export function verifyChunk(manifest: Manifest, index: number, bytes: Uint8Array): void {
  const length = chunkLength(manifest, index)
  if (bytes.length !== length) {
    throw new CairnError('Integrity', `Chunk ${index} of ${manifest.id} has ${length} bytes, not ${bytes.length}.`)
  }
  const expected = manifest.chainingValues.subarray(index * DIGEST_BYTES, (index + 1) * DIGEST_BYTES)
  if (!equalBytes(chainingValue(bytes, (index * manifest.chunkSize) / LEAF_BYTES), expected)) {
    throw new CairnError('Integrity', `The bytes given for chunk ${index} of ${manifest.id} are not its bytes.`)
  }
}
