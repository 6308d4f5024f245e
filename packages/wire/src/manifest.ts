/**
 * The manifest of an object of two or more chunks and its encoding: which chunks it has, and the chaining values that
 * prove each of them against the object's address.
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
import { type Address, addressFromDigest, digestOf } from './address.ts'
import { chainingValue, fold } from './blake3/chaining.ts'
import { DIGEST_BYTES, LEAF_BYTES } from './blake3/constants.ts'
import { equalBytes } from './bytes.ts'

/*
 * The encoding, deterministic DAG-CBOR:
 *
 *   {v: 2, id: h'…', cvs: [h'…' …], size: n, chunks: [h'…' …], chunk_size: n}      shorter keys first, then by bytes
 *
 * The shape is fixed and each number has one shortest spelling, so the reader compares instead of interpreting: what it
 * accepts is byte-equal to what the writer writes. A general decoder would make two million objects of the largest one.
 */

/** A 64 GiB object in 64 KiB chunks takes 68 MiB. */
export const MAX_MANIFEST_BYTES = 80 * 1_048_576

const VERSION = 2
const UNSIGNED = 0x00
const BYTES = 0x40
const TEXT = 0x60
const ARRAY = 0x80
const MAP_OF_SIX = 0xa6
/** A digest and the two bytes that announce it. */
const ITEM_BYTES = 2 + DIGEST_BYTES
/** Everything but the two lists, at its longest. */
const FRAME_BYTES = 128

export const MAX_MANIFEST_CHUNKS = Math.floor((MAX_MANIFEST_BYTES - FRAME_BYTES) / (2 * ITEM_BYTES))

export function encodeManifest(manifest: Manifest): Uint8Array {
  const writer = new ManifestWriter(FRAME_BYTES + 2 * ITEM_BYTES * manifest.chunkCount)
  writer.byte(MAP_OF_SIX)
  writer.key('v')
  writer.head(UNSIGNED, VERSION)
  writer.key('id')
  writer.digest(digestOf(manifest.id))
  writer.key('cvs')
  writer.digests(manifest.chainingValues)
  writer.key('size')
  writer.head(UNSIGNED, manifest.size)
  writer.key('chunks')
  writer.digests(manifest.chunkIds)
  writer.key('chunk_size')
  writer.head(UNSIGNED, manifest.chunkSize)
  return writer.written()
}

/**
 * The manifest in `bytes`, proven to be that of the object at `address`: `Malformed` if it is not a canonical manifest,
 * `Integrity` if it is another object's or its chaining values do not fold to the address.
 */
export function decodeManifest(bytes: Uint8Array, address: Address): Manifest {
  if (bytes.length > MAX_MANIFEST_BYTES) {
    throw new CairnError('TooLarge', `A manifest has at most ${MAX_MANIFEST_BYTES} bytes; this has ${bytes.length}.`)
  }
  const reader = new ManifestReader(bytes)
  reader.expectByte(MAP_OF_SIX, 'a map of six keys')
  reader.expectKey('v')
  reader.expectByte(VERSION, `version ${VERSION}`)
  reader.expectKey('id')
  const id = addressFromDigest(reader.digest())
  reader.expectKey('cvs')
  const chainingValues = reader.digests()
  reader.expectKey('size')
  const size = reader.head(UNSIGNED, 'a size')
  reader.expectKey('chunks')
  const chunkIds = reader.digests()
  reader.expectKey('chunk_size')
  const chunkSize = reader.head(UNSIGNED, 'a chunk size')
  reader.expectEnd()
  const manifest = createManifest({ size, chunkSize, chunkIds, chainingValues })
  if (id !== manifest.id || id !== address) {
    throw new CairnError('Integrity', `This manifest says ${id} and folds to ${manifest.id}; ${address} was asked for.`)
  }
  return manifest
}

const TWO_POW_32 = 2 ** 32

/** The bytes that announce an item of type `major` with this value or length, in the shortest of the five forms. */
function headOf(major: number, value: number): number[] {
  const bytes = (count: number): number[] =>
    Array.from({ length: count }, (_, index) => Math.floor(value / 256 ** (count - 1 - index)) % 256)
  if (value < 24) return [major | value]
  if (value < 256) return [major | 24, ...bytes(1)]
  if (value < 65_536) return [major | 25, ...bytes(2)]
  if (value < TWO_POW_32) return [major | 26, ...bytes(4)]
  return [major | 27, ...bytes(8)]
}

const keyBytes = (key: string): number[] => [...headOf(TEXT, key.length), ...new TextEncoder().encode(key)]
const DIGEST_HEAD = headOf(BYTES, DIGEST_BYTES)

class ManifestWriter {
  readonly #bytes: Uint8Array
  #position = 0

  constructor(capacity: number) {
    this.#bytes = new Uint8Array(capacity)
  }

  byte(value: number): void {
    this.#put([value])
  }

  key(key: string): void {
    this.#put(keyBytes(key))
  }

  head(major: number, value: number): void {
    this.#put(headOf(major, value))
  }

  digest(digest: Uint8Array): void {
    this.#put(DIGEST_HEAD)
    this.#put(digest)
  }

  digests(packed: Uint8Array): void {
    this.head(ARRAY, packed.length / DIGEST_BYTES)
    for (let at = 0; at < packed.length; at += DIGEST_BYTES) this.digest(packed.subarray(at, at + DIGEST_BYTES))
  }

  written(): Uint8Array {
    return this.#bytes.subarray(0, this.#position)
  }

  #put(bytes: ArrayLike<number>): void {
    this.#bytes.set(bytes, this.#position)
    this.#position += bytes.length
  }
}

class ManifestReader {
  readonly #bytes: Uint8Array
  #position = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  expectByte(value: number, wanted: string): void {
    this.#expect([value], wanted)
  }

  expectKey(key: string): void {
    this.#expect(keyBytes(key), `the key "${key}"`)
  }

  expectEnd(): void {
    if (this.#position !== this.#bytes.length) throw this.#unexpected('the end')
  }

  /** A number or a length of type `major`; a spelling longer than the shortest is refused. */
  head(major: number, wanted: string): number {
    const first = this.#bytes[this.#position] ?? 0xff
    const width = [1, 2, 4, 8][(first & 0x1f) - 24] ?? 0
    let value = width === 0 ? first & 0x1f : 0
    for (let index = 1; index <= width; index++) value = value * 256 + (this.#bytes[this.#position + index] ?? 0)
    if (!Number.isSafeInteger(value)) throw this.#unexpected(`${wanted} below 2^53`)
    this.#expect(headOf(major, value), wanted)
    return value
  }

  digest(): Uint8Array {
    this.#expect(DIGEST_HEAD, `a string of ${DIGEST_BYTES} bytes`)
    const digest = this.#bytes.subarray(this.#position, this.#position + DIGEST_BYTES)
    if (digest.length < DIGEST_BYTES) throw this.#unexpected(`${DIGEST_BYTES} bytes`)
    this.#position += DIGEST_BYTES
    return digest
  }

  digests(): Uint8Array {
    const count = this.head(ARRAY, 'a list')
    // Before anything is allocated: a list cannot have more items than there are bytes for.
    if (count * ITEM_BYTES > this.#bytes.length - this.#position) throw this.#unexpected(`${count} more items`)
    const packed = new Uint8Array(count * DIGEST_BYTES)
    for (let at = 0; at < packed.length; at += DIGEST_BYTES) packed.set(this.digest(), at)
    return packed
  }

  #expect(wanted: readonly number[], description: string): void {
    for (const [index, byte] of wanted.entries()) {
      if (this.#bytes[this.#position + index] !== byte) throw this.#unexpected(description)
    }
    this.#position += wanted.length
  }

  #unexpected(wanted: string): CairnError {
    return new CairnError(
      'Malformed',
      `This is not a canonical manifest: expected ${wanted} at byte ${this.#position}.`,
    )
  }
}

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

/** Throws `Integrity` unless `bytes` are exactly the object's bytes at this place. */
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
