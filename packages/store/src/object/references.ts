/** Derives from object and hold records who needs which chunk, and keeps the index's keys about it. */
import { CairnError, isKind, toCairnError } from '@cairn/kernel'
import type { KvOperation } from '@cairn/platform'
import { addressFromDigest } from '@cairn/wire'
import type { SegmentChunkStore } from '../chunk/segment-chunk-store.ts'
import type { IndexEntry } from '../index/entry-codec.ts'
import type { IndexChange } from '../index/record-index.ts'
import { KIND, type Store } from '../store.ts'
import { chunksOf, decodeHold, digestsOf } from './object-record.ts'
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

  isReferenced(chunk: Uint8Array): boolean {
    for (const _key of this.#store.index.kv.range(edgesOf(chunk))) return true
    return false
  }

  /** Keys from an object to its chunks and pages; those to pages last, since the way to the chunks leads through them. */
  async *#edges(object: Uint8Array, entry: IndexEntry, isLive: boolean): AsyncIterable<readonly KvOperation[]> {
    const operation = (chunk: Uint8Array): KvOperation => {
      const key = edgeKey(chunk, object)
      return isLive ? { tag: 'put', key, value: EMPTY } : { tag: 'delete', key }
    }
    const { pages } = await this.#objects.readFacts(entry)
    for (const pageId of digestsOf(pages)) {
      using page = await this.#chunks.read(addressFromDigest(pageId))
      if (page === undefined) throw new CairnError('Integrity', 'A page of the chunk list of an object is missing.')
      yield [...chunksOf(page.bytes)].map(({ id }) => operation(id))
    }
    yield [object, ...digestsOf(pages)].map(operation)
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
