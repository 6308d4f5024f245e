/** Derives from object and hold records who needs which chunk, and keeps the index's keys about it. */
import { CairnError, isKind, toCairnError } from '@cairn/kernel'
import type { KvOperation } from '@cairn/platform'
import { type Address, addressFromDigest, equalBytes } from '@cairn/wire'
import type { ChunkBytes } from '../cache/chunk-bytes.ts'
import type { SegmentChunkStore } from '../chunk/segment-chunk-store.ts'
import type { IndexEntry } from '../index/entry-codec.ts'
import type { IndexChange } from '../index/record-index.ts'
import { KIND, type Store } from '../store.ts'
import { chunksOf, decodeHold, digestsOf, type ObjectFacts } from './object-record.ts'
import type { ObjectStore } from './object-store.ts'
import { edgeKey, edgesAfter, edgesOf, holdKey, INCOMPLETE_KEY, objectOfEdge } from './reference-keys.ts'

const EMPTY = new Uint8Array(0)
const OBJECTS_PER_PAGE = 256
const EDGES_PER_PAGE = 1024

export class References {
  readonly #store: Store
  readonly #chunks: SegmentChunkStore
  readonly #objects: ObjectStore

  constructor(store: Store, chunks: SegmentChunkStore, objects: ObjectStore) {
    this.#store = store
    this.#chunks = chunks
    this.#objects = objects
  }

  /** The keys that follow from a change of the index. */
  async *derive({ kind, id, before, after }: IndexChange): AsyncIterable<readonly KvOperation[]> {
    if (kind === KIND.hold) {
      yield* deriveHold(id, before, after)
      return
    }
    if (kind !== KIND.object || (before === undefined && after?.isTombstone === true)) return
    if (this.#store.facts().isCatchingUp) {
      // The pages may not have been read yet; `complete` looks at every object once they have.
      yield [{ tag: 'put', key: INCOMPLETE_KEY, value: EMPTY }]
      return
    }
    const isLive = after?.isTombstone === false
    const entry = isLive ? after : before
    if (entry === undefined || entry.isTombstone) return
    try {
      yield* this.#edges(id, entry, isLive)
      if (isLive && before?.isTombstone === false) yield* this.#dropped(id, before, after)
    } catch (error) {
      // A batch may still have what was removed since: while the index is rebuilt, the two lie far apart in the journal.
      const isCurrent = isLive && this.#store.index.get(kind, id)?.lsn === after.lsn
      this.#unfollowed(error, isCurrent)
      yield [{ tag: 'put', key: INCOMPLETE_KEY, value: EMPTY }]
    }
  }

  /** Makes the keys of every object anew if some may be missing or out of date; false if it had to leave some out. */
  async complete(signal?: AbortSignal): Promise<boolean> {
    await this.#store.caughtUp()
    await this.#store.index.flush()
    const { index } = this.#store
    if (this.isComplete) return true
    await this.#forgetRemoved(signal)
    let from: Uint8Array | undefined
    let isWhole = true
    for (;;) {
      if (signal?.aborted === true) return false
      const page = [...index.stored(KIND.object, from, OBJECTS_PER_PAGE)]
      if (page.length === 0) {
        if (isWhole) await index.kv.commit([{ tag: 'delete', key: INCOMPLETE_KEY }])
        return isWhole
      }
      for (const { id, entry } of page) {
        from = id
        if (!entry.isTombstone) isWhole = (await this.#remake(id, entry)) && isWhole
      }
    }
  }

  /** Edges to objects that are gone: those of a removal whose pages could not be read, or were not read yet. */
  async #forgetRemoved(signal: AbortSignal | undefined): Promise<void> {
    const { index } = this.#store
    let last: Uint8Array | undefined
    for (;;) {
      if (signal?.aborted === true) return
      const keys = [...index.kv.range({ ...edgesAfter(last), limit: EDGES_PER_PAGE })].map(({ key }) => key)
      last = keys.at(-1)
      if (last === undefined) return
      // Looked at and put in line in one step: whoever puts the object again writes its edges after this.
      const removed = keys.filter((key) => index.get(KIND.object, objectOfEdge(key))?.isTombstone !== false)
      await index.kv.commit(removed.map((key): KvOperation => ({ tag: 'delete', key })))
    }
  }

  async #remake(id: Uint8Array, entry: IndexEntry): Promise<boolean> {
    try {
      for await (const slice of this.#edges(id, entry, true)) await this.#store.index.kv.commit(slice)
      return true
    } catch (error) {
      this.#unfollowed(error, true)
      return false
    }
  }

  #unfollowed(error: unknown, isLive: boolean): void {
    if (!isKind(error, 'Integrity')) throw error
    const { log } = this.#store.machine
    if (isLive) log.error({ error: toCairnError(error) }, 'the chunks of a damaged object cannot be listed')
    // Of one that is gone its pages may be gone as well, if the index was lost since.
    else log.info({ error: toCairnError(error) }, 'the chunks of a removed object cannot be listed')
  }

  get isComplete(): boolean {
    return this.#store.index.kv.get(INCOMPLETE_KEY) === undefined
  }

  /** Whether this object needs this chunk here, as far as the index knows. */
  refersTo(object: Uint8Array, chunk: Uint8Array): boolean {
    return this.#store.index.kv.get(edgeKey(chunk, object)) !== undefined
  }

  /** Objects that need this chunk here. */
  referrers(chunk: Uint8Array, limit: number): Address[] {
    const edges = [...this.#store.index.kv.range({ ...edgesOf(chunk), limit })]
    return edges.map(({ key }) => addressFromDigest(objectOfEdge(key).slice()))
  }

  /** Resolves when the index knows of everything that is durable by now. */
  async settled(): Promise<void> {
    await this.#store.index.flush()
  }

  isReferenced(chunk: Uint8Array): boolean {
    for (const _key of this.#store.index.kv.range(edgesOf(chunk))) return true
    return false
  }

  /** Keys from an object to its chunks and pages; those to pages last, since the way to the chunks leads through them. */
  async *#edges(object: Uint8Array, entry: IndexEntry, isLive: boolean): AsyncIterable<readonly KvOperation[]> {
    for await (const chunks of this.#referred(object, await this.#objects.readFacts(entry)))
      yield chunks.map((chunk): KvOperation => {
        const key = edgeKey(chunk, object)
        return isLive ? { tag: 'put', key, value: EMPTY } : { tag: 'delete', key }
      })
  }

  /** What an object no longer needs here since its record was written anew: whole copies give way to shares. */
  async *#dropped(object: Uint8Array, before: IndexEntry, after: IndexEntry): AsyncIterable<readonly KvOperation[]> {
    const [older, newer] = [await this.#objects.readFacts(before), await this.#objects.readFacts(after)]
    if (newer.stripes === undefined) return
    const { sharePages } = newer.stripes
    if (older.stripes !== undefined && equalBytes(older.stripes.sharePages, sharePages)) return
    const needed = new Set<Address>()
    for await (const chunks of this.#referred(object, newer))
      for (const chunk of chunks) needed.add(addressFromDigest(chunk))
    for await (const chunks of this.#referred(object, older))
      yield chunks
        .filter((chunk) => !needed.has(addressFromDigest(chunk)))
        .map((chunk): KvOperation => ({ tag: 'delete', key: edgeKey(chunk, object) }))
  }

  async *#referred(object: Uint8Array, { pages, stripes }: ObjectFacts): AsyncIterable<readonly Uint8Array[]> {
    if (stripes === undefined) {
      for (const pageId of digestsOf(pages)) {
        using page = await this.#page(pageId)
        yield [...chunksOf(page.bytes)].map(({ id }) => id)
      }
      yield [object, ...digestsOf(pages)]
      return
    }
    for (const pageId of digestsOf(stripes.sharePages)) {
      using page = await this.#page(pageId)
      yield [...digestsOf(page.bytes)]
    }
    yield [...digestsOf(pages), ...digestsOf(stripes.parityPages), ...digestsOf(stripes.sharePages)]
  }

  async #page(pageId: Uint8Array): Promise<ChunkBytes> {
    const page = await this.#chunks.read(addressFromDigest(pageId))
    if (page === undefined) throw new CairnError('Integrity', 'A page of the chunk list of an object is missing.')
    return page
  }
}

function* deriveHold(
  id: Uint8Array,
  before: IndexEntry | undefined,
  after: IndexEntry | undefined,
): Iterable<readonly KvOperation[]> {
  const isLive = after?.isTombstone === false
  const payload = (isLive ? after : before)?.inline
  if (payload === undefined || (!isLive && before?.isTombstone !== false)) return
  const key = holdKey(decodeHold(payload).object, id)
  yield [isLive ? { tag: 'put', key, value: EMPTY } : { tag: 'delete', key }]
}
