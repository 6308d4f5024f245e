/**
 * For repair: what an object refers to, which of it is lost, and which objects refer to a chunk. The last is stored
 * nowhere: one pass over the objects answers every caller that asks while it waits to begin.
 *
 *     of(a) ─┐
 *     of(b) ─┼─▶ pass: every live object, its list of chunks ─▶ those that name a or b, or any chunk known to be damaged
 *     of(c) ─┘
 */
import { CairnError, GenerationCache, isKind, toCairnError, Waiters, type WaitOptions, waitIn } from '@cairn/kernel'
import { type Address, addressFromDigest, addressOf, digestOf } from '@cairn/wire'
import type { SegmentChunkStore } from '../chunk/segment-chunk-store.ts'
import { viewOf } from '../journal/format.ts'
import type { RecordPlace } from '../journal/segment.ts'
import { KIND, type RecordStore } from '../record-store.ts'
import { chunksOf, decodeObject, digestsOf, type ObjectFacts } from './object-record.ts'

/** Finds which of its chunks an object has lost: they are not here, or were found damaged. */
export class ObjectCheck {
  readonly #store: RecordStore
  readonly #chunks: SegmentChunkStore

  constructor(store: RecordStore, chunks: SegmentChunkStore) {
    this.#store = store
    this.#chunks = chunks
  }

  /**
   * Returns the chunks the object has lost: none if it is whole; the object itself if its record or its list of chunks
   * is damaged; `undefined` if there is no such object. `damaged` are chunks found so, perhaps before a restart.
   */
  async lost(object: Address, damaged: ReadonlySet<string>): Promise<ReadonlySet<Address> | undefined> {
    const lost = new Set<Address>()
    const digest = digestOf(object)
    try {
      const record = await this.#store.read(KIND.object, digest)
      if (record === undefined) return undefined
      for await (const ids of readReferences(this.#chunks, digest, decodeObject(record.payload))) {
        for (const each of ids) {
          const id = addressFromDigest(each)
          if (damaged.has(id) || !this.#chunks.willExist(id)) lost.add(id)
        }
      }
    } catch (error) {
      if (!isKind(error, 'Integrity')) throw error
      lost.add(object)
    }
    return lost
  }
}

/*
 * What an object refers to, read from its record and its pages; nowhere is that stored in another form.
 *
 *     whole    record ─▶ pages ─▶ chunks          an object of one chunk keeps the chunk of its own address
 *     striped  record ─▶ share pages ─▶ shards    and the pages of the chunk list and of the parity, which name the rest
 */

/** Its chunks page by page, the pages themselves last. `Integrity` if one of them cannot be read, or is not here. */
export async function* readReferences(
  chunks: SegmentChunkStore,
  object: Uint8Array,
  { pages, stripes }: ObjectFacts,
): AsyncGenerator<readonly Uint8Array[]> {
  if (stripes === undefined) {
    for (const id of digestsOf(pages)) yield await readIdsOnPage(chunks, object, id, (page) => chunkIds(page))
    yield pages.length === 0 ? [object] : [...digestsOf(pages)]
    return
  }
  yield* readSharedShards(chunks, object, stripes.sharePages)
  yield [...digestsOf(pages), ...digestsOf(stripes.parityPages), ...digestsOf(stripes.sharePages)]
}

/** Yields the shards that these pages list. */
export async function* readSharedShards(
  chunks: SegmentChunkStore,
  object: Uint8Array,
  sharePages: Uint8Array,
): AsyncGenerator<readonly Uint8Array[]> {
  for (const id of digestsOf(sharePages)) yield await readIdsOnPage(chunks, object, id, (page) => [...digestsOf(page)])
}

function chunkIds(page: Uint8Array): Uint8Array[] {
  return Array.from(chunksOf(page), ({ id }) => id)
}

async function readIdsOnPage(
  chunks: SegmentChunkStore,
  object: Uint8Array,
  pageId: Uint8Array,
  idsOn: (page: Uint8Array) => readonly Uint8Array[],
): Promise<readonly Uint8Array[]> {
  using page = await chunks.readQuietly(addressFromDigest(pageId))
  if (page !== undefined) return idsOn(page.bytes)
  const detail = `A page of the chunk list of ${addressFromDigest(object)} is missing; put the object again, or remove it.`
  throw new CairnError('Integrity', detail, { code: 'page_missing' })
}

/** Records read side by side: a drive answers many as fast as one, and each keeps its segment pinned meanwhile. */
const READS_TOGETHER = 16

/** The items of the slices, some at a time. No slice is asked for before all of those before it were taken. */
export function* inBatches<Item>(slices: Iterable<readonly Item[]>): Iterable<readonly Item[]> {
  let batch: Item[] = []
  for (const slice of slices) {
    for (const item of slice) {
      batch.push(item)
      if (batch.length < READS_TOGETHER) continue
      yield batch
      batch = []
    }
  }
  if (batch.length > 0) yield batch
}

/** A chunk that many objects share is rebuilt from one of them. */
const REFERRERS_MAX = 16
/** Shares whose shards are remembered, 8 bytes each: work on an object asks for one stripe after the other. */
const SHARES_MAX = 2
/** Chunks of which it is remembered who keeps them. */
const ANSWERS_MAX = 4_096

export class Referrers {
  readonly #store: RecordStore
  readonly #chunks: SegmentChunkStore
  readonly #shares = new GenerationCache<Share>(SHARES_MAX)
  /** What a pass has found beside what it was asked for; an answer is given once. */
  readonly #answers = new GenerationCache<readonly Address[]>(ANSWERS_MAX)
  #asked = new Map<Address, Address[]>()
  #waiting = new Waiters<CairnError | undefined>()
  #isPassing = false

  constructor(store: RecordStore, chunks: SegmentChunkStore) {
    this.#store = store
    this.#chunks = chunks
  }

  /** Objects that keep this chunk, shard or page here; a few of them if they are many. One that was deleted since may be among them. */
  async of(chunk: Address, options: WaitOptions = {}): Promise<readonly Address[]> {
    const known = this.#answers.get(chunk)
    this.#answers.remove(chunk)
    if (known !== undefined) return known
    const found = this.#asked.get(chunk) ?? []
    this.#asked.set(chunk, found)
    const waiting = waitIn(this.#waiting, options)
    if (!this.#isPassing) {
      this.#isPassing = true
      this.#passes().catch((error: unknown) => this.#store.machine.log.error({ error }, 'a pass over objects failed'))
    }
    const failure = await waiting
    if (failure !== undefined) throw failure
    return found
  }

  /** Whether a share of the object, as its record lists it, has these shards, in the order given. `Integrity` if its list is damaged. */
  async keeps(object: Uint8Array, facts: ObjectFacts, shards: readonly Uint8Array[]): Promise<readonly boolean[]> {
    const share = await this.#shareOf(object, facts)
    return shards.map((shard) => share.has(shard))
  }

  async #shareOf(object: Uint8Array, { stripes }: ObjectFacts): Promise<Share> {
    if (stripes === undefined) return new Share([])
    const name = addressOf(stripes.sharePages)
    const known = this.#shares.get(name)
    if (known !== undefined) return known
    const prefixes: bigint[] = []
    for await (const shards of readSharedShards(this.#chunks, object, stripes.sharePages))
      for (const shard of shards) prefixes.push(prefixOf(shard))
    const share = new Share(prefixes)
    this.#shares.add(name, share)
    return share
  }

  async #passes(): Promise<void> {
    try {
      while (this.#asked.size > 0) {
        const [asked, waiting] = [this.#asked, this.#waiting]
        this.#asked = new Map()
        this.#waiting = new Waiters()
        try {
          await this.#passOnce(asked)
          waiting.wakeAll(undefined)
        } catch (error) {
          waiting.wakeAll(toCairnError(error))
        }
      }
    } finally {
      this.#isPassing = false
    }
  }

  async #passOnce(asked: ReadonlyMap<Address, Address[]>): Promise<void> {
    const wanted = new Map(asked)
    for (const chunk of this.#chunks.damaged()) if (!wanted.has(chunk)) wanted.set(chunk, [])
    for (const batch of inBatches(this.#store.index.live(KIND.object)))
      await Promise.all(batch.map(async ({ place }) => await this.#look(place, wanted)))
    for (const [chunk, found] of wanted) if (!asked.has(chunk)) this.#answers.add(chunk, found)
  }

  async #look(place: RecordPlace, wanted: ReadonlyMap<Address, Address[]>): Promise<void> {
    try {
      const { id, kind, payload } = await this.#store.journal.read(place)
      if (kind !== KIND.object) return
      const object = addressFromDigest(id)
      const facts = decodeObject(payload)
      // A page that is damaged may be what was asked about, and what it lists cannot be read then.
      for (const page of digestsOf(facts.stripes?.sharePages ?? facts.pages)) note(wanted, page, object)
      for await (const ids of readReferences(this.#chunks, id, facts))
        for (const each of ids) note(wanted, each, object)
    } catch (error) {
      // What cannot be read, or has just gone, keeps nothing that could be told.
      if (!isKind(error, 'Integrity') && !isKind(error, 'NotFound')) throw error
    }
  }
}

function note(wanted: ReadonlyMap<Address, Address[]>, chunk: Uint8Array, object: Address): void {
  const found = wanted.get(addressFromDigest(chunk))
  if (found !== undefined && found.length < REFERRERS_MAX && !found.includes(object)) found.push(object)
}

/** Shards by the first 8 bytes of their hashes: enough to tell those of one object apart, in an eighth of the memory. */
class Share {
  readonly #prefixes: BigUint64Array

  constructor(prefixes: readonly bigint[]) {
    this.#prefixes = BigUint64Array.from(prefixes).sort()
  }

  has(shard: Uint8Array): boolean {
    const wanted = prefixOf(shard)
    let [low, high] = [0, this.#prefixes.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#prefixes[middle] ?? 0n) < wanted) low = middle + 1
      else high = middle
    }
    return this.#prefixes[low] === wanted
  }
}

function prefixOf(digest: Uint8Array): bigint {
  return viewOf(digest).getBigUint64(0)
}
