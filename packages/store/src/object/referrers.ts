/**
 * Who keeps which chunk here, for repair. Nothing is stored about it: one pass over the objects answers everybody who
 * asks while it waits to begin.
 *
 *     of(a) ─┐
 *     of(b) ─┼─▶ pass: every live object, its list of chunks ─▶ those that name a or b, or any chunk known to be damaged
 *     of(c) ─┘
 */
import { type CairnError, isKind, Recent, toCairnError, Waiters, type WaitOptions, waitIn } from '@cairn/kernel'
import { type Address, addressFromDigest, addressOf } from '@cairn/wire'
import type { SegmentChunkStore } from '../chunk/segment-chunk-store.ts'
import { viewOf } from '../journal/format.ts'
import type { Place } from '../journal/segment.ts'
import { KIND, type Store } from '../store.ts'
import { inBatches } from './in-batches.ts'
import { decodeObject, digestsOf, type ObjectFacts } from './object-record.ts'
import { referred, sharedShards } from './referred.ts'

/** A chunk that many objects share is rebuilt from one of them. */
const REFERRERS_MAX = 16
/** Shares whose shards are remembered, 8 bytes each: work on an object asks for one stripe after the other. */
const SHARES_MAX = 2
/** Chunks of which it is remembered who keeps them. */
const ANSWERS_MAX = 4_096

export class Referrers {
  readonly #store: Store
  readonly #chunks: SegmentChunkStore
  readonly #shares = new Recent<Share>(SHARES_MAX)
  /** What a pass has found beside what it was asked for; an answer is given once. */
  readonly #answers = new Recent<readonly Address[]>(ANSWERS_MAX)
  #asked = new Map<Address, Address[]>()
  #waiting = new Waiters<CairnError | undefined>()
  #isPassing = false

  constructor(store: Store, chunks: SegmentChunkStore) {
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
    for await (const shards of sharedShards(this.#chunks, object, stripes.sharePages))
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

  async #look(place: Place, wanted: ReadonlyMap<Address, Address[]>): Promise<void> {
    try {
      const { id, kind, payload } = await this.#store.journal.read(place)
      if (kind !== KIND.object) return
      const object = addressFromDigest(id)
      const facts = decodeObject(payload)
      // A page that is damaged may be what was asked about, and what it lists cannot be read then.
      for (const page of digestsOf(facts.stripes?.sharePages ?? facts.pages)) note(wanted, page, object)
      for await (const ids of referred(this.#chunks, id, facts)) for (const each of ids) note(wanted, each, object)
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
