/**
 * What objects elsewhere are made of: manifests, each proved by its address, and the pages of their lists of chunks.
 *
 * A manifest never changes, so one that is kept is as good as one that is fetched; but an object has one for each size of
 * chunks. Whether there is such an object, and how it is cut, is asked anew each time.
 */
import { type ObjectFacts, pagesOf } from '@cairn/store'
import { type Address, addressOf, digestOf, type Manifest, verifyChunk } from '@cairn/wire'
import type { CopyFacts } from '../targets/target.ts'

/** For manifests and pages together: both hold 64 bytes for each chunk. */
const KEPT_BYTES_MAX = 32 * 1024 * 1024
const DIGEST_BYTES = 32

interface Remote {
  readonly manifest: Manifest
  readonly pages: ReadonlyMap<Address, Uint8Array>
  readonly packed: Uint8Array
  readonly bytes: number
}

export class RemoteObjects {
  /** By object and size of chunks. */
  readonly #kept = new Map<string, Remote>()
  readonly #pages = new Map<Address, Uint8Array>()
  readonly #facts = new WeakSet<ObjectFacts>()
  #bytes = 0

  manifest(id: Address, chunkSize: number): Manifest | undefined {
    return this.#kept.get(keyOf({ id, chunkSize }))?.manifest
  }

  /** The facts of an object of this manifest, as if it were here. */
  factsOf({ size, type, chunkSize, version }: CopyFacts, manifest: Manifest | undefined): ObjectFacts {
    const pages = manifest === undefined ? new Uint8Array(0) : this.#keep(manifest).packed
    const facts = { size, type, chunkSize, version, pages }
    this.#facts.add(facts)
    return facts
  }

  /** Whether these were told by another node, and not read from a record of this one. */
  areRemote(facts: ObjectFacts): boolean {
    return this.#facts.has(facts)
  }

  page(id: Address): Uint8Array | undefined {
    return this.#pages.get(id)
  }

  /**
   * Whether the bytes are this chunk of the object: a manifest proves chaining values, not the names of chunks. Nothing
   * is known of an object whose manifest is not kept.
   */
  isChunk(object: Address, chunkSize: number, chunk: number, bytes: Uint8Array): boolean | undefined {
    const manifest = this.manifest(object, chunkSize)
    return manifest === undefined ? undefined : isSound(manifest, chunk, bytes)
  }

  #keep(manifest: Manifest): Remote {
    const key = keyOf(manifest)
    const known = this.#kept.get(key)
    if (known !== undefined) return known
    const pages = new Map([...pagesOf(manifest)].map((page) => [addressOf(page), page]))
    const packed = new Uint8Array(pages.size * DIGEST_BYTES)
    for (const [at, page] of [...pages.keys()].entries()) packed.set(digestOf(page), at * DIGEST_BYTES)
    const bytes = 4 * DIGEST_BYTES * manifest.chunkCount
    const remote = { manifest, pages, packed, bytes }
    this.#kept.set(key, remote)
    for (const [id, page] of pages) this.#pages.set(id, page)
    this.#bytes += bytes
    this.#forget(key)
    return remote
  }

  #forget(newest: string): void {
    for (const [key, { pages, bytes }] of this.#kept) {
      if (this.#bytes <= KEPT_BYTES_MAX || key === newest) return
      this.#kept.delete(key)
      for (const page of pages.keys()) this.#pages.delete(page)
      this.#bytes -= bytes
    }
  }
}

function keyOf({ id, chunkSize }: Pick<Manifest, 'id' | 'chunkSize'>): string {
  return `${id} ${chunkSize}`
}

function isSound(manifest: Manifest, chunk: number, bytes: Uint8Array): boolean {
  try {
    verifyChunk(manifest, chunk, bytes)
    return true
  } catch {
    return false
  }
}
