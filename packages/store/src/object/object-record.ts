/**
 * What the journal keeps of an object, and how its list of chunks is cut into pages.
 *
 *     object record {size, type, chunk_size, pages, version} ──▶ page: up to 1024 × (chunk id 32, chaining value 32) ──▶ chunks
 *
 * A page is an ordinary chunk, stored under the hash of its bytes: 64 GiB have 1024 pages, and reading a range needs
 * one of them. An object of one chunk has no pages; its chunk is found under the object's own address.
 *
 * One that is erasure-coded has the same record in every store that keeps some of its shards:
 *
 *     … stripes {k, m, generation, parity_pages, share_pages} ──▶ page: up to 2048 × shard id
 */
import { CairnError } from '@cairn/kernel'
import { decodeCbor, encodeCbor, type Manifest } from '@cairn/wire'
import { getInteger, viewOf } from '../journal/format.ts'

const DIGEST_BYTES = 32
/** Chunks on a page; a full page has 64 KiB, like the chunks it lists. */
export const PAGE_CHUNKS = 1024
/** Digests on a page that lists nothing else; 64 KiB as well. */
export const PAGE_DIGESTS = 2048

/** How an object is spread over several stores: this one keeps a share of its shards. */
export interface StripeFacts {
  /** Consecutive chunks of the object in a stripe, but for the last. */
  readonly k: number
  /** Parity shards of each stripe. */
  readonly m: number
  /** Which encoding of the object this is: shards of two never belong together. */
  readonly generation: number
  /** Hashes of the pages that list the parity shards, stripe by stripe, 32 bytes each. */
  readonly parityPages: Uint8Array
  /** Hashes of the pages that list the shards kept here; the chunks of the object that are not among them are elsewhere. */
  readonly sharePages: Uint8Array
}

export interface ObjectFacts {
  readonly size: number
  readonly type: string
  readonly chunkSize: number
  /** Hashes of the pages, 32 bytes each, in order. Empty for an object of one chunk. */
  readonly pages: Uint8Array
  /** Orders puts and deletes of the object over several stores; 0 where there is one. */
  readonly version: number
  /** Absent for one whose chunks are all here. */
  readonly stripes?: StripeFacts | undefined
}

export function encodeObject({ size, type, chunkSize, pages, version, stripes }: ObjectFacts): Uint8Array {
  const plain = { size, type, chunk_size: chunkSize, pages, ...(version === 0 ? {} : { version }) }
  if (stripes === undefined) return encodeCbor(plain)
  const { k, m, generation, parityPages, sharePages } = stripes
  return encodeCbor({ ...plain, stripes: { k, m, generation, parity_pages: parityPages, share_pages: sharePages } })
}

export function decodeObject(payload: Uint8Array): ObjectFacts {
  const value = decodeCbor(payload)
  if (typeof value !== 'object' || value === null) throw unreadable()
  const fields: Partial<Record<string, unknown>> = { ...value }
  const { size, type, chunk_size: chunkSize, pages, version = 0 } = fields
  if (typeof size !== 'number' || typeof type !== 'string' || typeof chunkSize !== 'number') throw unreadable()
  if (!(pages instanceof Uint8Array) || typeof version !== 'number') throw unreadable()
  return { size, type, chunkSize, pages, version, stripes: decodeStripes(fields['stripes']) }
}

function decodeStripes(value: unknown): StripeFacts | undefined {
  if (value === undefined) return undefined
  if (typeof value !== 'object' || value === null) throw unreadable()
  const fields: Partial<Record<string, unknown>> = { ...value }
  const { k, m, generation, parity_pages: parityPages, share_pages: sharePages } = fields
  if (typeof k !== 'number' || typeof m !== 'number' || typeof generation !== 'number') throw unreadable()
  if (!(parityPages instanceof Uint8Array) || !(sharePages instanceof Uint8Array)) throw unreadable()
  return { k, m, generation, parityPages, sharePages }
}

const TIME_BYTES = 8
const VERSION_BYTES = 8

/** The version a tombstone was written with; those of a store that stands alone have none. */
export function tombstoneVersion(payload: Uint8Array): number {
  return payload.length < TIME_BYTES + VERSION_BYTES ? 0 : getInteger(viewOf(payload), TIME_BYTES)
}

/** The signed statement it was written with; absent in what this node decided before deletes were signed. */
export function tombstoneRecord(payload: Uint8Array): Uint8Array | undefined {
  const record = payload.slice(TIME_BYTES + VERSION_BYTES)
  return record.length === 0 ? undefined : record
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

/** Pages that list digests alone: parity shards, or the shards of a share. */
export function* digestPagesOf(packed: Uint8Array): Iterable<Uint8Array> {
  for (let at = 0; at < packed.length; at += PAGE_DIGESTS * DIGEST_BYTES)
    yield packed.slice(at, at + PAGE_DIGESTS * DIGEST_BYTES)
}

/** A packed list of digests, one by one. */
export function* digestsOf(packed: Uint8Array): Iterable<Uint8Array> {
  for (let at = 0; at + DIGEST_BYTES <= packed.length; at += DIGEST_BYTES) yield packed.slice(at, at + DIGEST_BYTES)
}

export function packDigests(digests: readonly Uint8Array[]): Uint8Array {
  const packed = new Uint8Array(digests.length * DIGEST_BYTES)
  for (const [at, digest] of digests.entries()) packed.set(digest, at * DIGEST_BYTES)
  return packed
}

function unreadable(): CairnError {
  return new CairnError('Integrity', 'A record of the journal is not of the form of its kind.')
}
