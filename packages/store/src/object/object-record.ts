/**
 * What the journal keeps of an object, and how its list of chunks is cut into pages.
 *
 *     object record {size, type, chunk_size, pages} ──▶ page: up to 1024 × (chunk id 32, chaining value 32) ──▶ chunks
 *
 * A page is an ordinary chunk, stored under the hash of its bytes: 64 GiB have 1024 pages, and reading a range needs
 * one of them. An object of one chunk has no pages; its chunk is found under the object's own address.
 */
import { CairnError } from '@cairn/kernel'
import { decodeCbor, encodeCbor, type Manifest } from '@cairn/wire'

const DIGEST_BYTES = 32
/** Chunks on a page; a full page has 64 KiB, like the chunks it lists. */
export const PAGE_CHUNKS = 1024

export interface ObjectFacts {
  readonly size: number
  readonly type: string
  readonly chunkSize: number
  /** Hashes of the pages, 32 bytes each, in order. Empty for an object of one chunk. */
  readonly pages: Uint8Array
}

export function encodeObject({ size, type, chunkSize, pages }: ObjectFacts): Uint8Array {
  return encodeCbor({ size, type, chunk_size: chunkSize, pages })
}

export function decodeObject(payload: Uint8Array): ObjectFacts {
  const value = decodeCbor(payload)
  if (typeof value !== 'object' || value === null) throw unreadable()
  const { size, type, chunk_size: chunkSize, pages }: Partial<Record<string, unknown>> = { ...value }
  if (typeof size !== 'number' || typeof type !== 'string' || typeof chunkSize !== 'number') throw unreadable()
  if (!(pages instanceof Uint8Array)) throw unreadable()
  return { size, type, chunkSize, pages }
}

export interface HoldFacts {
  readonly owner: string
  readonly object: Uint8Array
}

export function encodeHold({ owner, object }: HoldFacts): Uint8Array {
  return encodeCbor({ owner, object })
}

export function decodeHold(payload: Uint8Array): HoldFacts {
  const value = decodeCbor(payload)
  if (typeof value !== 'object' || value === null) throw unreadable()
  const { owner, object }: Partial<Record<string, unknown>> = { ...value }
  if (typeof owner !== 'string' || !(object instanceof Uint8Array)) throw unreadable()
  return { owner, object }
}

/** The pages of a manifest's chunk list, in order. */
export function* pagesOf({ chunkCount, chunkIds, chainingValues }: Manifest): Iterable<Uint8Array> {
  for (let from = 0; from < chunkCount; from += PAGE_CHUNKS) {
    const to = Math.min(chunkCount, from + PAGE_CHUNKS)
    const page = new Uint8Array((to - from) * 2 * DIGEST_BYTES)
    for (let at = from; at < to; at += 1) {
      const into = (at - from) * 2 * DIGEST_BYTES
      page.set(chunkIds.subarray(at * DIGEST_BYTES, (at + 1) * DIGEST_BYTES), into)
      page.set(chainingValues.subarray(at * DIGEST_BYTES, (at + 1) * DIGEST_BYTES), into + DIGEST_BYTES)
    }
    yield page
  }
}

export interface PagedChunk {
  readonly id: Uint8Array
  readonly chainingValue: Uint8Array
}

/** The chunks a page lists. */
export function* chunksOf(page: Uint8Array): Iterable<PagedChunk> {
  for (let at = 0; at + 2 * DIGEST_BYTES <= page.length; at += 2 * DIGEST_BYTES) {
    const middle = at + DIGEST_BYTES
    yield { id: page.slice(at, middle), chainingValue: page.slice(middle, middle + DIGEST_BYTES) }
  }
}

/** A packed list of digests, one by one. */
export function* digestsOf(packed: Uint8Array): Iterable<Uint8Array> {
  for (let at = 0; at + DIGEST_BYTES <= packed.length; at += DIGEST_BYTES) yield packed.slice(at, at + DIGEST_BYTES)
}

function unreadable(): CairnError {
  return new CairnError('Integrity', 'A record of the journal is not of the form of its kind.')
}
