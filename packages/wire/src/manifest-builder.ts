/** Builds the manifest of an object while its chunks go by. */
import { CairnError } from '@cairn/kernel'
import { type Address, addressFromDigest } from './address.ts'
import { chainingValue } from './blake3/chaining.ts'
import { DIGEST_BYTES, LEAF_BYTES } from './blake3/constants.ts'
import { blake3 } from './blake3/hash.ts'
import { assertChunkSize, createManifest, DEFAULT_CHUNK_BYTES, MAX_MANIFEST_CHUNKS, type Manifest } from './manifest.ts'

/** What an object turned out to be: one chunk, whose own hash is the address, or more, with a manifest. */
export type BuiltObject =
  | { readonly kind: 'single'; readonly id: Address; readonly size: number }
  | { readonly kind: 'chunked'; readonly id: Address; readonly size: number; readonly manifest: Manifest }

/** Takes the chunks of one object in order, each of `chunkSize` bytes but the last, and keeps 64 bytes of each. */
export class ManifestBuilder {
  readonly #chunkSize: number
  readonly #chunkIds = new DigestList()
  readonly #chainingValues = new DigestList()
  #size = 0

  constructor(chunkSize: number = DEFAULT_CHUNK_BYTES) {
    assertChunkSize(chunkSize)
    this.#chunkSize = chunkSize
  }

  /** Adds the next chunk and returns its own address; after a short chunk no more may follow. */
  add(chunk: Uint8Array): Address {
    if (this.#size % this.#chunkSize !== 0) throw new CairnError('Malformed', 'A chunk follows one that was short.')
    if (chunk.length === 0 || chunk.length > this.#chunkSize) {
      throw new CairnError('Malformed', `A chunk has 1 to ${this.#chunkSize} bytes; this one has ${chunk.length}.`)
    }
    if (this.#chunkIds.count === MAX_MANIFEST_CHUNKS) {
      const detail = `An object has at most ${MAX_MANIFEST_CHUNKS} chunks; use larger ones than ${this.#chunkSize} bytes.`
      throw new CairnError('TooLarge', detail)
    }
    const id = blake3(chunk)
    this.#chunkIds.push(id)
    this.#chainingValues.push(chainingValue(chunk, this.#size / LEAF_BYTES))
    this.#size += chunk.length
    return addressFromDigest(id)
  }

  /** The object that the chunks so far make; no chunk at all is the empty object. */
  finish(): BuiltObject {
    const size = this.#size
    const chunkIds = this.#chunkIds.packed()
    if (size <= this.#chunkSize) {
      const id = addressFromDigest(size === 0 ? blake3(new Uint8Array(0)) : chunkIds)
      return { kind: 'single', id, size }
    }
    const chainingValues = this.#chainingValues.packed()
    const manifest = createManifest({ size, chunkSize: this.#chunkSize, chunkIds, chainingValues })
    return { kind: 'chunked', id: manifest.id, size, manifest }
  }
}

/** A growing packed list of digests. */
class DigestList {
  #bytes = new Uint8Array(16 * DIGEST_BYTES)
  count = 0

  push(digest: Uint8Array): void {
    const at = this.count * DIGEST_BYTES
    if (at === this.#bytes.length) {
      const grown = new Uint8Array(2 * at)
      grown.set(this.#bytes)
      this.#bytes = grown
    }
    this.#bytes.set(digest, at)
    this.count++
  }

  packed(): Uint8Array {
    return this.#bytes.slice(0, this.count * DIGEST_BYTES)
  }
}
