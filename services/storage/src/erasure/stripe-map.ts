/**
 * The stripes of one object, as the record of one generation lists them.
 *
 *     record ─▶ page of chunks (1024 ids) ─▶ data shards        record ─▶ page of parity (2048 ids) ─▶ parity shards
 *
 * All of a descriptor comes from one record: shards are found by their hashes, so those of two generations cannot meet.
 */
import { type ChunkBytes, digestsOf, type ObjectFacts, PAGE_CHUNKS, PAGE_DIGESTS, type StripeFacts } from '@cairn/store'
import { type Address, addressFromDigest, createManifest, digestOf, equalBytes, type Manifest } from '@cairn/wire'
import { partGone } from '../errors.ts'
import { chunkCount, type StripeDescriptor, type StripedShape, shardSizes, stripeCount } from './stripe-core.ts'

const DIGEST_BYTES = 32

export type ReadPage = (id: Address) => Promise<ChunkBytes | undefined>

export class StripeMap {
  readonly object: Address
  readonly shape: StripedShape
  readonly generation: number
  readonly version: number
  readonly facts: ObjectFacts
  readonly #stripes: StripeFacts
  readonly #read: ReadPage
  #manifest: Promise<Manifest> | undefined

  constructor(object: Address, facts: ObjectFacts, stripes: StripeFacts, read: ReadPage) {
    const { k, m, generation } = stripes
    this.object = object
    this.facts = facts
    this.shape = { k, m, size: facts.size, chunkSize: facts.chunkSize }
    this.generation = generation
    this.version = facts.version
    this.#stripes = stripes
    this.#read = read
  }

  get stripeCount(): number {
    return stripeCount(this.shape)
  }

  async stripe(stripe: number): Promise<StripeDescriptor> {
    const { k, m } = this.shape
    const sizes = shardSizes(this.shape, stripe)
    const count = Math.min(k, chunkCount(this.shape) - stripe * k)
    const data = await this.#data(stripe * k, count)
    const parity = await this.#parity(stripe * m, m)
    const gap = Array.from({ length: k - count }, () => undefined)
    const { object, generation } = this
    return { object, stripe, generation, k, m, shards: [...data, ...gap, ...parity], sizes }
  }

  /** The list of the object's chunks, proved against its address. */
  async manifest(): Promise<Manifest> {
    this.#manifest ??= this.#readManifest()
    return await this.#manifest
  }

  async #readManifest(): Promise<Manifest> {
    const { size, chunkSize, pages } = this.facts
    const rows = await this.#all(pages)
    const [chunkIds, chainingValues] = [new Uint8Array(rows.length / 2), new Uint8Array(rows.length / 2)]
    for (let at = 0; at < chunkIds.length; at += DIGEST_BYTES) {
      chunkIds.set(rows.subarray(2 * at, 2 * at + DIGEST_BYTES), at)
      chainingValues.set(rows.subarray(2 * at + DIGEST_BYTES, 2 * (at + DIGEST_BYTES)), at)
    }
    return createManifest({ size, chunkSize, chunkIds, chainingValues })
  }

  /** Hashes of the parity shards, stripe by stripe, packed. */
  async parityIds(): Promise<Uint8Array> {
    return await this.#all(this.#stripes.parityPages)
  }

  /** Where this shard belongs; nothing if it is none of the object's. */
  async find(id: Address): Promise<{ readonly stripe: number; readonly shard: number } | undefined> {
    const { k, m } = this.shape
    const wanted = digestOf(id)
    const chunk = await this.#row(this.facts.pages, wanted, 2 * DIGEST_BYTES)
    if (chunk !== undefined) return { stripe: Math.floor(chunk / k), shard: chunk % k }
    const parity = await this.#row(this.#stripes.parityPages, wanted, DIGEST_BYTES)
    return parity === undefined ? undefined : { stripe: Math.floor(parity / m), shard: k + (parity % m) }
  }

  async #row(pages: Uint8Array, wanted: Uint8Array, bytes: number): Promise<number | undefined> {
    let before = 0
    for (const digest of digestsOf(pages)) {
      using held = await this.#page(addressFromDigest(digest))
      for (let at = 0; at < held.bytes.length; at += bytes)
        if (equalBytes(held.bytes.subarray(at, at + DIGEST_BYTES), wanted)) return before + at / bytes
      before += held.bytes.length / bytes
    }
    return undefined
  }

  async #all(pages: Uint8Array): Promise<Uint8Array> {
    const pieces: Uint8Array[] = []
    for (const digest of digestsOf(pages)) {
      using held = await this.#page(addressFromDigest(digest))
      pieces.push(held.bytes.slice())
    }
    return joined(pieces)
  }

  async #page(id: Address): Promise<ChunkBytes> {
    const held = await this.#read(id)
    if (held === undefined) throw partGone(id)
    return held
  }

  async #data(first: number, count: number): Promise<Address[]> {
    return await this.#ids(this.facts.pages, { first, count, perPage: PAGE_CHUNKS, bytes: 2 * DIGEST_BYTES })
  }

  async #parity(first: number, count: number): Promise<Address[]> {
    return await this.#ids(this.#stripes.parityPages, { first, count, perPage: PAGE_DIGESTS, bytes: DIGEST_BYTES })
  }

  async #ids(pages: Uint8Array, { first, count, perPage, bytes }: Rows): Promise<Address[]> {
    const ids: Address[] = []
    while (ids.length < count) {
      const at = first + ids.length
      const page = Math.floor(at / perPage)
      const pageId = addressFromDigest(pages.subarray(page * DIGEST_BYTES, (page + 1) * DIGEST_BYTES))
      using held = await this.#page(pageId)
      const end = Math.min(first + count, (page + 1) * perPage)
      for (let row = at; row < end; row += 1) {
        const from = (row % perPage) * bytes
        ids.push(addressFromDigest(held.bytes.slice(from, from + DIGEST_BYTES)))
      }
    }
    return ids
  }
}

function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const room = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const piece of pieces) {
    room.set(piece, at)
    at += piece.length
  }
  return room
}

interface Rows {
  readonly first: number
  readonly count: number
  readonly perPage: number
  readonly bytes: number
}
