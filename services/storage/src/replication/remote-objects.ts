/**
 * What objects elsewhere are made of: manifests, each proved by its address, and the pages of their lists of chunks.
 *
 * A manifest never changes, so one that is kept is as good as one that is fetched. Whether there is such an object is
 * asked anew each time.
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
  readonly #kept = new Map<Address, Remote>()
  readonly #pages = new Map<Address, Uint8Array>()
  #bytes = 0

  manifest(id: Address): Manifest | undefined {
    return this.#kept.get(id)?.manifest
  }

  /** The facts of an object of this manifest, as if it were here. */
  factsOf({ size, type, chunkSize, version }: CopyFacts, manifest: Manifest | undefined): ObjectFacts {
    const pages = manifest === undefined ? new Uint8Array(0) : this.#keep(manifest).packed
    return { size, type, chunkSize, version, pages }
  }

  page(id: Address): Uint8Array | undefined {
    return this.#pages.get(id)
  }

  /**
   * Whether the bytes are this chunk of the object: a manifest proves chaining values, not the names of chunks. Nothing
   * is known of an object whose manifest is not kept.
   */
  isChunk(object: Address, chunk: number, bytes: Uint8Array): boolean | undefined {
    const manifest = this.manifest(object)
    return manifest === undefined ? undefined : isSound(manifest, chunk, bytes)
  }

  #keep(manifest: Manifest): Remote {
    const known = this.#kept.get(manifest.id)
    if (known !== undefined) return known
    const pages = new Map([...pagesOf(manifest)].map((page) => [addressOf(page), page]))
    const packed = new Uint8Array(pages.size * DIGEST_BYTES)
    for (const [at, page] of [...pages.keys()].entries()) packed.set(digestOf(page), at * DIGEST_BYTES)
    const bytes = 4 * DIGEST_BYTES * manifest.chunkCount
    const remote = { manifest, pages, packed, bytes }
    this.#kept.set(manifest.id, remote)
    for (const [id, page] of pages) this.#pages.set(id, page)
    this.#bytes += bytes
    this.#forget(manifest.id)
    return remote
  }

  #forget(newest: Address): void {
    for (const [id, { pages, bytes }] of this.#kept) {
      if (this.#bytes <= KEPT_BYTES_MAX || id === newest) return
      this.#kept.delete(id)
      for (const page of pages.keys()) this.#pages.delete(page)
      this.#bytes -= bytes
    }
  }
}

function isSound(manifest: Manifest, chunk: number, bytes: Uint8Array): boolean {
  try {
    verifyChunk(manifest, chunk, bytes)
    return true
  } catch {
    return false
  }
}
