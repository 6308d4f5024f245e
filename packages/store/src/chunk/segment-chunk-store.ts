import { CairnError, isKind, toCairnError, Waiters, waitIn } from '@cairn/kernel'
import { type Address, blake3, digestOf, equalBytes } from '@cairn/wire'
import type { IndexEntry } from '../index/keydir-core.ts'
import type { Submission } from '../journal/appender.ts'
import { isSamePlace, type RecordPlace } from '../journal/segment.ts'
import { mayCondemn } from '../object/mark-core.ts'
import { KIND, type RecordStore } from '../record-store.ts'
import { BufferPool, type ChunkBytes, ChunkCache, SharedBytes } from './chunk-cache.ts'
import { type ChunkPut, type ChunkStore, checkChunk } from './chunk-store.ts'
import { lease } from './lease-core.ts'
import * as presence from './presence-core.ts'

/** Unused buffers that the pool keeps for the next reader. */
const POOL_BYTES = 16 * 1024 * 1024
/** A segment may be compacted away between looking a place up and reading it; the second look finds the new place. */
const LOOKS_MAX = 3
const READINGS_MAX = 2

/** Chunks as records of a journal. */
export class SegmentChunkStore implements ChunkStore {
  readonly #store: RecordStore
  readonly #presence: presence.Presence<Submission> = new Map()
  readonly #pool = new BufferPool(POOL_BYTES)
  readonly #cache: ChunkCache
  /** Chunks whose bytes turned out wrong, and where. They do not exist, so that they can be put again; reading them says why. */
  readonly #damaged = new Map<Address, RecordPlace>()
  /** Reads from the disk, and who joined them. Each gets a hold of its own in the step in which the read ends. */
  readonly #reads = new Map<Address, Waiters<ReadOutcome>>()

  #removals = 0

  constructor(store: RecordStore, cacheBytes: number) {
    this.#store = store
    this.#cache = new ChunkCache(cacheBytes)
  }

  async missing(ids: readonly Address[], upload: string): Promise<Address[]> {
    return await Promise.try(() => {
      const now = this.#store.machine.clock.now()
      return ids.filter((id) => {
        const isHere = this.exists(id)
        if (isHere) lease(this.#store.leases, upload, id, now)
        return !isHere
      })
    })
  }

  /** Durable, and not about to go. */
  exists(id: Address): boolean {
    return presence.exists(this.#presence, id, this.#isIndexed(id))
  }

  /** Durable, or in line to be before anything that is submitted from now on. */
  willExist(id: Address): boolean {
    return presence.decidePut(this.#presence, id, this.#isIndexed(id)).tag !== 'write'
  }

  async put(id: Address, bytes: Uint8Array, { upload, signal }: ChunkPut): Promise<'new' | 'present'> {
    const submission = this.submit(id, bytes, upload)
    if (submission === 'present') return 'present'
    await submission.write.durable({ signal })
    return submission.isNew ? 'new' : 'present'
  }

  /**
   * Puts the chunk in line without waiting, leased to the upload in the same step. The bytes must not change before
   * they are written. With `lazy`, it is synced with whatever comes after it; `isProved` says that the caller has just
   * made the id out of these very bytes.
   */
  submit(
    id: Address,
    bytes: Uint8Array,
    upload: string,
    { lazy = false, isProved = false } = {},
  ): 'present' | { readonly write: Submission; readonly isNew: boolean } {
    const decision = presence.decidePut(this.#presence, id, this.#isIndexed(id))
    if (decision.tag === 'write' && !isProved) checkChunk(id, bytes)
    lease(this.#store.leases, upload, id, this.#store.machine.clock.now())
    if (decision.tag === 'present') {
      this.#store.journal.mustBeReady()
      return 'present'
    }
    if (decision.tag === 'join') return { write: decision.token, isNew: false }
    const draft = { kind: KIND.chunk, flags: 0, id: digestOf(id), payload: bytes }
    const write = this.#store.submit([draft], { lazy, onSettled: () => presence.settle(this.#presence, id, write) })
    presence.begin(this.#presence, id, { tag: 'put', token: write })
    return { write, isNew: true }
  }

  /** The bytes, if they are in memory and still exist: what goes or is found damaged leaves the cache in that step. */
  cached(id: Address): ChunkBytes | undefined {
    return this.#presence.has(id) ? undefined : this.#cache.get(id)
  }

  /** Reads the chunk from the drive, whatever is in memory: `absent` if there is none, an error if it is damaged. */
  async inspect(id: Address): Promise<'sound' | 'absent'> {
    const shared = await this.#readVerified(id, this.#store.lookup(KIND.chunk, digestOf(id)))
    using _held = shared?.hold()
    return shared === undefined ? 'absent' : 'sound'
  }

  async read(id: Address): Promise<ChunkBytes | undefined> {
    const cached = this.cached(id)
    if (cached !== undefined) return cached
    const entry = this.#store.lookup(KIND.chunk, digestOf(id))
    const isSound = entry !== undefined && !this.#isDamaged(id, entry)
    if (!presence.exists(this.#presence, id, isSound)) {
      if (entry !== undefined && !isSound) throw damaged(id)
      return undefined
    }
    const joined = this.#reads.get(id)
    return joined === undefined ? await this.#readShared(id, entry) : take(await waitIn(joined))
  }

  /** Like `read`, for work over everything: it leaves the cache to those who read the same again. */
  async readQuietly(id: Address): Promise<ChunkBytes | undefined> {
    const cached = this.cached(id)
    if (cached !== undefined) return cached
    const shared = await this.#readVerified(id, this.#store.lookup(KIND.chunk, digestOf(id)))
    return shared?.hold()
  }

  /** Chunks that were found damaged and not put again since. */
  damaged(): Iterable<Address> {
    return this.#damaged.keys()
  }

  /** Grows with every removal that was asked for; the sweeper's do not count, they respect leases. */
  get removals(): number {
    return this.#removals
  }

  async remove(id: Address): Promise<boolean> {
    this.#removals += 1
    const decision = presence.decideRemoval(this.#presence, id, this.#isIndexed(id))
    if (decision.tag === 'absent') {
      this.#store.journal.mustBeReady()
      return false
    }
    await (decision.tag === 'join' ? decision.token : this.#submitRemoval(id)).durable()
    return true
  }

  async list(after: Address | undefined, limit: number): Promise<Address[]> {
    return await this.#store.list(KIND.chunk, after, limit)
  }

  /**
   * Removes the chunk if a whole round did not reach it and no upload keeps it; `found` is its record as it was read
   * back. Looked at and put in line in one step, so that a put or a `missing` either comes before, and leases it, or
   * after, and finds it gone. Also one whose bytes are damaged.
   */
  tryCondemn(id: Address, found: Pick<IndexEntry, 'place' | 'lsn'>): Submission | undefined {
    const { index, leases, machine, marks } = this.#store
    const digest = digestOf(id)
    const entry = this.#store.lookup(KIND.chunk, digest)
    const facts = {
      isProved: entry !== undefined && entry.lsn === found.lsn && isSamePlace(entry.place, found.place),
      isMarked: index.isMarked(KIND.chunk, digest),
      isSettled: !this.#presence.has(id),
    }
    if (!mayCondemn(marks, leases, id, facts, machine.clock.now())) return undefined
    return this.#submitRemoval(id)
  }

  /** Releases every buffer. */
  close(): void {
    this.#cache.clear()
  }

  #submitRemoval(id: Address): Submission {
    const draft = this.#store.tombstone(KIND.chunk, digestOf(id))
    const onSettled = (): void => presence.settle(this.#presence, id, removal)
    const removal = this.#store.submit([draft], { freesSpace: true, onSettled })
    presence.begin(this.#presence, id, { tag: 'removal', token: removal })
    this.#cache.remove(id)
    return removal
  }

  #isIndexed(id: Address): boolean {
    const entry = this.#store.lookup(KIND.chunk, digestOf(id))
    return entry !== undefined && !this.#isDamaged(id, entry)
  }

  /** Until a newer record of it is in the index. */
  #isDamaged(id: Address, entry: IndexEntry | undefined): boolean {
    if (entry !== undefined && !this.#store.journal.holds(entry.place.segment)) return true
    const place = this.#damaged.get(id)
    if (place === undefined) return false
    if (entry !== undefined && isSamePlace(entry.place, place)) return true
    this.#damaged.delete(id)
    return false
  }

  async #readShared(id: Address, entry: IndexEntry | undefined): Promise<ChunkBytes | undefined> {
    const line = new Waiters<ReadOutcome>()
    this.#reads.set(id, line)
    try {
      const shared = await this.#readVerified(id, entry)
      const mine = shared?.hold()
      while (line.size > 0) line.wakeFirst({ tag: 'read', held: shared?.hold() })
      // The chunk may have been removed while it was read; then nothing would take it out of the cache again.
      if (shared !== undefined) this.#cache.offer(id, shared, () => this.exists(id))
      return mine
    } catch (error) {
      line.wakeAll({ tag: 'failed', error: toCairnError(error) })
      throw error
    } finally {
      this.#reads.delete(id)
    }
  }

  async #readVerified(id: Address, found: IndexEntry | undefined): Promise<SharedBytes | undefined> {
    const digest = digestOf(id)
    let entry = found
    for (let look = 1; entry !== undefined; look += 1) {
      const { place } = entry
      try {
        return await this.#readEntry(id, digest, entry)
      } catch (error) {
        if (!isKind(error, 'NotFound') || look === LOOKS_MAX) throw error
      }
      entry = this.#store.lookup(KIND.chunk, digest)
      // It did not move: its segment was removed from outside.
      if (entry !== undefined && isSamePlace(entry.place, place)) throw this.#foundDamaged(id, place)
    }
    return undefined
  }

  async #readEntry(id: Address, digest: Uint8Array, entry: IndexEntry): Promise<SharedBytes> {
    const bytes = this.#pool.take(entry.place.length)
    try {
      // A bit may flip on the way as well as on the disk: what is wrong twice is wrong where it lies.
      for (let reading = 1; reading <= READINGS_MAX; reading += 1) {
        await this.#store.journal.readPayload(entry.place, bytes)
        if (equalBytes(blake3(bytes), digest)) return new SharedBytes(bytes, this.#pool)
      }
      if (await this.#store.isMended(KIND.chunk, digest, entry)) throw moved(id)
      throw this.#foundDamaged(id, entry.place)
    } catch (error) {
      // A drive that does not answer may still write into this very buffer: it must not be used again.
      if (!isKind(error, 'StorageBusy')) this.#pool.give(bytes)
      throw error
    }
  }

  #foundDamaged(id: Address, place: RecordPlace): CairnError {
    this.#damaged.set(id, place)
    this.#cache.remove(id)
    return damaged(id)
  }
}

type ReadOutcome =
  | { readonly tag: 'read'; readonly held: ChunkBytes | undefined }
  | { readonly tag: 'failed'; readonly error: CairnError }

function take(outcome: ReadOutcome): ChunkBytes | undefined {
  if (outcome.tag === 'failed') throw outcome.error
  return outcome.held
}

function moved(id: Address): CairnError {
  return new CairnError('NotFound', `${id} does not lie where the index said; it is looked for again.`)
}

function damaged(id: Address): CairnError {
  const detail = `The stored bytes of ${id} are damaged; they are not handed out. Put them again, or repair from a copy.`
  return new CairnError('Integrity', detail)
}
