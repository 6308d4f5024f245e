/**
 * Objects: which bytes they are made of, and who needs them.
 *
 *     commit: pages in line ─▶ every chunk here, or in line before us? ── no ──▶ Conflict with the list of those missing
 *                                        └─ yes: object record in line, in the same step ─▶ durable ─▶ told
 *
 * From the look at a chunk to the moment the index knows that the object refers to it, the commit keeps the chunk from
 * the sweeper.
 */
import { CairnError, GenerationCache, isKind, sleep } from '@cairn/kernel'
import { type Address, addressFromDigest, addressOf, digestOf, type Manifest } from '@cairn/wire'
import { abandonLease, endLease, keep, unlease } from '../chunk/lease-core.ts'
import * as presence from '../chunk/presence-core.ts'
import type { SegmentChunkStore } from '../chunk/segment-chunk-store.ts'
import type { IndexEntry } from '../index/keydir-core.ts'
import type { Submission } from '../journal/appender.ts'
import type { Draft } from '../journal/segment.ts'
import { KIND, type RecordStore } from '../record-store.ts'
import { checkOwner, Holds, holdDraft } from './holds.ts'
import { died, referredTo } from './mark-core.ts'
import {
  decodeObject,
  digestPagesOf,
  digestsOf,
  encodeObject,
  type ObjectFacts,
  packDigests,
  pagesOf,
} from './object-record.ts'

/** Chunks looked at in one step; more would block other tasks. */
const CHUNKS_PER_STEP = 4_096
const DIGEST_BYTES = 32
const NONE = new Uint8Array(0)
/** A thousandth of what the cache of chunks may take, and enough for as many small objects as fit into it in part. */
const RECENT_MAX = 4_096
const LOOKS_MAX = 5

export interface ObjectCommit {
  readonly id: Address
  readonly size: number
  readonly type: string
  readonly chunkSize: number
  /** Absent for an object of one chunk. */
  readonly manifest: Manifest | undefined
  /** The commit releases its leases on the object's chunks, and no others: one upload may bring many objects. */
  readonly upload: string
  /** Hold the object from its first moment on, in the same write. */
  readonly owners?: readonly string[]
  /** Orders it among puts and deletes at other stores; see `object-copies.ts`. */
  readonly version?: number
  readonly stripes?: StripeCommit
}

/** What is committed of an object whose shards are spread over several stores. */
export interface StripeCommit {
  readonly k: number
  readonly m: number
  readonly generation: number
  /** Hashes of the parity shards, stripe by stripe, packed. */
  readonly parityIds: Uint8Array
  /** Hashes of the shards that are kept here, packed: they must be here, the other chunks need not. */
  readonly share: Uint8Array
}

/** Whether the object is given in chunks of another size than it is here; one chunk is one chunk, whatever its size. */
export function hasDifferentChunkSize(
  { chunkSize, pages }: ObjectFacts,
  given: Pick<ObjectCommit, 'manifest' | 'chunkSize'>,
): boolean {
  return chunkSize !== given.chunkSize && (given.manifest !== undefined || pages.length > 0)
}

/** `lsn` is that of its record: what was written before it has a lower one. */
export interface RecordVersion {
  readonly tag: 'object'
  readonly version: number
  readonly lsn: number
  /** Its chunks are spread over several stores. */
  readonly isStriped?: true
}

/** What became of a hold on several objects. */
export interface HoldCounts {
  /** Holds that there were not before. */
  readonly written: number
  readonly missing: readonly Address[]
}

export interface Removal {
  readonly version: number
  /** Others have agreed that it goes: holds on it here no longer matter. */
  readonly isAgreed: boolean
  /** The signed statement that says so; kept with the tombstone. */
  readonly record?: Uint8Array | undefined
}

/** An object that is here, or that another task is putting. */
type KnownPut = Exclude<presence.PutDecision<Submission>, { tag: 'write' }>

/** What of the record follows from the pages. */
type Staged = Pick<ObjectFacts, 'pages' | 'stripes'>

type PreparedCommit = KnownPut | { readonly tag: 'submitted'; readonly write: Submission }

export class ObjectStore {
  readonly holds: Holds
  /** Versions of records that were read lately, for `ObjectCopies`. */
  readonly versions = new GenerationCache<RecordVersion>(RECENT_MAX)
  readonly #store: RecordStore
  readonly #chunks: SegmentChunkStore
  readonly #presence: presence.Presence<Submission> = new Map()
  /** Facts of objects that were asked about lately. */
  readonly #recent = new GenerationCache<ObjectFacts>(RECENT_MAX)
  #serial = 0

  constructor(store: RecordStore, chunks: SegmentChunkStore) {
    this.#store = store
    this.#chunks = chunks
    this.holds = new Holds(store)
  }

  /**
   * Makes the object visible, durably, and held if it has an owner. `Conflict` `missing_chunks`, with the ids as its
   * cause, if any is not here.
   */
  async commit(object: ObjectCommit): Promise<'new' | 'present'> {
    const { id, owners = [] } = object
    for (const owner of owners) checkOwner(owner)
    const outcome = await this.#commit(object)
    // One that was here has records of its own; the hold is a write by itself.
    if (outcome === 'present') {
      await this.restorePages(object)
      for (const owner of owners) await this.#holdPresent(owner, id)
    }
    return outcome
  }

  /** Puts back, durably, the pages of its list that an object here has lost. */
  async restorePages({ id, manifest, upload }: ObjectCommit): Promise<void> {
    const facts = manifest === undefined ? undefined : await this.stat(id)
    if (manifest === undefined || facts === undefined) return
    const pages = [...digestsOf(facts.pages)].map((digest) => addressFromDigest(digest))
    const lost = new Set(pages.filter((page) => !this.#chunks.exists(page)))
    if (lost.size === 0) return
    for (const page of pagesOf(manifest)) {
      const pageId = addressOf(page)
      if (lost.has(pageId)) await this.#chunks.put(pageId, page, { upload })
    }
  }

  async #holdPresent(owner: string, id: Address): Promise<void> {
    try {
      await this.hold(owner, id)
    } catch (cause) {
      if (isKind(cause, 'NotFound')) throw raced('The object was removed while it was put; try again.', cause)
      throw cause
    }
  }

  async #commit(object: ObjectCommit): Promise<'new' | 'present'> {
    const known = this.#decidePut(object.id)
    const other = known.tag === 'present' ? await this.#withDifferentChunkSize(object) : undefined
    if (known.tag !== 'write' && other === undefined) return await this.#joined(known)
    this.#serial += 1
    const lease = `commit ${this.#serial}`
    try {
      const prepared = await this.#prepare(object, lease, other)
      if (prepared.tag !== 'submitted') {
        abandonLease(this.#store.leases, lease)
        return await this.#joined(prepared)
      }
      const [record] = await prepared.write.durable()
      // The caller may ask for it next. A removal that came since has taken the entry away, or will take this out.
      if (record !== undefined && this.#entry(object.id)?.lsn === record.lsn)
        this.#recent.add(object.id, decodeObject(record.payload))
    } catch (error) {
      abandonLease(this.#store.leases, lease)
      throw error
    }
    await this.#settle(object, lease)
    if (other === undefined) return 'new'
    // The chunks it was cut into before.
    died(this.#store.marks)
    return 'present'
  }

  /**
   * Returns what is here, if it is cut into chunks of another size. Then it is written anew as it is given: a client may
   * put an object again because chunks of it were lost, and those given are others.
   */
  async #withDifferentChunkSize({
    id,
    manifest,
    chunkSize,
    size,
    type,
    version = 0,
  }: ObjectCommit): Promise<ObjectFacts | undefined> {
    try {
      const facts = await this.stat(id)
      return facts !== undefined && hasDifferentChunkSize(facts, { manifest, chunkSize }) ? facts : undefined
    } catch (error) {
      if (!isKind(error, 'Integrity')) throw error
      // Its record is damaged: this put brings that back too.
      return { size, type, chunkSize, pages: NONE, version }
    }
  }

  /** Writes this as the record of an object that is here. It is no put: the object can be read all the while. */
  submitAgain(id: Address, facts: ObjectFacts): Submission {
    const draft = { kind: KIND.object, flags: 0, id: digestOf(id), payload: encodeObject(facts) }
    return this.#store.submit([draft], { onSettled: () => this.#recent.remove(id) })
  }

  /**
   * Writes the record of an object that is here anew: as the whole that is given, or as a share, of what it kept of the
   * same generation and what is given. The caller excludes every other change of the object meanwhile.
   */
  async rewrite(object: ObjectCommit, facts: ObjectFacts): Promise<void> {
    this.#serial += 1
    const lease = `commit ${this.#serial}`
    try {
      const { pages, stripes } = await this.#stage(object, lease)
      const version = object.version ?? 0
      const kept = facts.stripes?.generation === stripes?.generation ? await this.#soundSharePages(facts) : []
      // Shards of two generations are never in one share; what a damaged page listed has to be given again.
      const whole = stripes && { ...stripes, sharePages: packDigests([...kept, ...digestsOf(stripes.sharePages)]) }
      const { id, chunkSize } = object
      const renewal = this.submitAgain(id, { ...facts, chunkSize, version, pages, stripes: whole })
      await renewal.durable()
      this.#recent.remove(object.id)
    } catch (error) {
      abandonLease(this.#store.leases, lease)
      throw error
    }
    await this.#settle(object, lease)
    // What the record before this one referred to, and this one does not.
    died(this.#store.marks)
  }

  /** Whether every page that lists what is kept of the object can be read. */
  async isShareSound(facts: ObjectFacts): Promise<boolean> {
    const { length } = facts.stripes?.sharePages ?? NONE
    return (await this.#soundSharePages(facts)).length * DIGEST_BYTES === length
  }

  async #soundSharePages({ stripes }: ObjectFacts): Promise<Uint8Array[]> {
    const sound: Uint8Array[] = []
    for (const page of digestsOf(stripes?.sharePages ?? NONE)) {
      try {
        using held = await this.#chunks.read(addressFromDigest(page))
        if (held !== undefined) sound.push(page)
      } catch (error) {
        if (!isKind(error, 'Integrity')) throw error
      }
    }
    return sound
  }

  async stat(id: Address): Promise<ObjectFacts | undefined> {
    const entry = this.#entry(id)
    if (entry === undefined) return undefined
    const recent = this.#recent.get(id)
    // As long as a damaged record is taken for a sound one, nothing brings it back.
    if (recent !== undefined && !this.#store.isDamagedAt(entry.place)) return recent
    const record = await this.#read(id)
    if (record === undefined) return undefined
    const facts = decodeObject(record.payload)
    // Seen and remembered in one step: a removal comes before it, and there is no entry, or after, and takes it out.
    if (this.#entry(id)?.lsn === record.lsn) this.#recent.add(id, facts)
    return facts
  }

  /** Of a record that cannot be read nothing is remembered. */
  async #read(id: Address): ReturnType<RecordStore['read']> {
    try {
      return await this.#store.read(KIND.object, digestOf(id))
    } catch (error) {
      if (isKind(error, 'Integrity')) this.versions.remove(id)
      throw error
    }
  }

  /** Returns at once what `stat` returned lately; undefined if it did not, or a removal has begun since. */
  statRecent(id: Address): ObjectFacts | undefined {
    return this.#recent.get(id)
  }

  async readFacts({ place }: IndexEntry): Promise<ObjectFacts> {
    return decodeObject((await this.#store.journal.read(place)).payload)
  }

  /** Removes the object; returns whether there was one. `Conflict` `referenced` while an owner holds it. */
  async remove(id: Address): Promise<boolean> {
    const decision = presence.decideRemoval(this.#presence, id, this.#isIndexed(id))
    if (decision.tag === 'absent') {
      this.#store.journal.mustBeReady()
      return false
    }
    if (decision.tag === 'join') {
      await decision.token.durable()
      return true
    }
    if (this.holds.isHeld(id)) throw await this.holds.refusal(id)
    await this.#submitTombstones(id, [this.#store.tombstone(KIND.object, digestOf(id))]).durable()
    return true
  }

  /** Writes a tombstone with a version, whether or not the object is here. If it is held that must be agreed on; the holds end. */
  async deleteVersioned(id: Address, { version, isAgreed, record }: Removal): Promise<void> {
    if (!isAgreed && this.holds.isHeld(id)) throw await this.holds.refusal(id)
    const gone = this.holds.records(id).map((hold) => this.#store.tombstone(KIND.hold, hold))
    const tombstone = this.#store.tombstone(KIND.object, digestOf(id), version, record)
    await this.#submitTombstones(id, [tombstone, ...gone]).durable()
  }

  /** Waits until a removal that is under way is over, well or badly. */
  async removalOver(id: Address): Promise<void> {
    const underWay = this.#presence.get(id)
    if (underWay?.tag !== 'removal') return
    // If it fails, its own caller receives the error; here it only matters that it is over.
    await Promise.allSettled([underWay.token.durable()])
  }

  #submitTombstones(id: Address, drafts: readonly Draft[]): Submission {
    const onSettled = (): void => {
      presence.settle(this.#presence, id, removal)
      died(this.#store.marks)
    }
    const removal = this.#store.submit(drafts, { freesSpace: true, onSettled })
    presence.begin(this.#presence, id, { tag: 'removal', token: removal })
    this.#recent.remove(id)
    return removal
  }

  /** Keeps the object from being removed until `owner` releases it; durable, and the same however often it is asked. */
  async hold(owner: string, id: Address): Promise<void> {
    if (!presence.exists(this.#presence, id, this.#isIndexed(id))) {
      throw new CairnError('NotFound', `There is no object ${id} to hold.`)
    }
    await this.holds.add(owner, id)
  }

  /** Holds as many of these as are here, in one write for those the owner does not hold yet. */
  async holdAll(owner: string, ids: readonly Address[]): Promise<HoldCounts> {
    const present = ids.filter((id) => presence.exists(this.#presence, id, this.#isIndexed(id)))
    const here = new Set(present)
    const written = await this.holds.addAll(owner, present)
    return { written, missing: ids.filter((id) => !here.has(id)) }
  }

  /** Ends the owner's holds on these; returns how many there were. */
  async releaseAll(owner: string, ids: readonly Address[]): Promise<number> {
    return await this.holds.endAll(owner, ids)
  }

  /** Ends the hold of `owner`; returns whether there was one. */
  async release(owner: string, id: Address): Promise<boolean> {
    return await this.holds.end(owner, id)
  }

  async list(after: Address | undefined, limit: number): Promise<Address[]> {
    return await this.#store.list(KIND.object, after, limit)
  }

  /**
   * Looks at every chunk and puts the object's record in line. If anything failed or was removed while it looked, what
   * it saw first may be gone, and it looks again; from the last look to the record nothing can come between.
   */
  async #prepare(object: ObjectCommit, lease: string, other: ObjectFacts | undefined): Promise<PreparedCommit> {
    for (let look = 1; look <= LOOKS_MAX; look += 1) {
      const before = this.#losses()
      const staged = await this.#stage(object, lease)
      if (before !== this.#losses()) continue
      // Another task may have committed the same object meanwhile: then its commit is the new one.
      const known = this.#decidePut(object.id)
      if (known.tag === 'write') return { tag: 'submitted', write: this.#submit(object, staged) }
      if (known.tag === 'join' || other === undefined) return known
      // A removal that comes now is behind it in line.
      const { id, chunkSize } = object
      return { tag: 'submitted', write: this.submitAgain(id, { ...other, chunkSize, ...staged }) }
    }
    throw raced('Chunks keep going while the object is committed; try again.')
  }

  /**
   * The object is durable and in the index, and keeps its chunks from now on. They are marked before the commit stops
   * keeping them: a round that listed the objects before this one reads it no more.
   */
  async #settle({ upload }: ObjectCommit, lease: string): Promise<void> {
    const { leases, machine, index } = this.#store
    const kept = [...(leases.uploads.get(lease)?.ids ?? [])] as Address[]
    for (let at = 0; at < kept.length; at += CHUNKS_PER_STEP) {
      if (at > 0) await sleep(machine.clock, 0)
      const step = kept.slice(at, at + CHUNKS_PER_STEP)
      referredTo(step, (id) => void index.mark(KIND.chunk, digestOf(id)))
      unlease(leases, upload, step)
    }
    endLease(leases, lease)
  }

  #losses(): number {
    return this.#store.journal.failures + this.#chunks.removals
  }

  /** Puts the pages in line and keeps every chunk from the sweeper. */
  async #stage({ id, manifest, stripes }: ObjectCommit, lease: string): Promise<Staged> {
    if (manifest === undefined) {
      this.#keepAll([id], lease)
      return { pages: NONE, stripes: undefined }
    }
    const pages = await this.#stagePages(pagesOf(manifest), lease)
    if (stripes === undefined) {
      await this.#keepEvery(manifest.chunkIds, lease)
      return { pages, stripes: undefined }
    }
    const { k, m, generation, parityIds, share } = stripes
    const parityPages = await this.#stagePages(digestPagesOf(parityIds), lease)
    const sharePages = await this.#stagePages(digestPagesOf(share), lease)
    await this.#keepEvery(share, lease)
    return { pages, stripes: { k, m, generation, parityPages, sharePages } }
  }

  /** Returns the pages' ids, packed. */
  async #stagePages(pages: Iterable<Uint8Array>, lease: string): Promise<Uint8Array> {
    const ids: Uint8Array[] = []
    for (const page of pages) {
      const pageId = addressOf(page)
      const staged = this.#chunks.submit(pageId, page, lease, { lazy: true })
      keep(this.#store.leases, lease, pageId)
      ids.push(digestOf(pageId))
      if (staged !== 'present') await staged.write.written()
    }
    return packDigests(ids)
  }

  async #keepEvery(ids: Uint8Array, lease: string): Promise<void> {
    for (let at = 0; at < ids.length; at += CHUNKS_PER_STEP * DIGEST_BYTES) {
      if (at > 0) await sleep(this.#store.machine.clock, 0)
      this.#keepAll(addressesIn(ids, at), lease)
    }
  }

  #keepAll(ids: readonly Address[], lease: string): void {
    const missing = ids.filter((id) => {
      const isComing = this.#chunks.willExist(id)
      if (isComing) keep(this.#store.leases, lease, id)
      return !isComing
    })
    if (missing.length === 0) return
    const detail = `${missing.length} chunks of the object are not here; send them, then commit again.`
    throw new CairnError('Conflict', detail, { code: 'missing_chunks', cause: missing })
  }

  #submit({ id, size, type, chunkSize, owners = [], version = 0 }: ObjectCommit, staged: Staged): Submission {
    const payload = encodeObject({ size, type, chunkSize, version, ...staged })
    const draft = { kind: KIND.object, flags: 0, id: digestOf(id), payload }
    const onSettled = (): void => {
      presence.settle(this.#presence, id, write)
      holdsSettled()
    }
    const write = this.#store.submit([draft, ...owners.map((owner) => holdDraft(owner, id))], { onSettled })
    const holdsSettled = this.holds.expect(owners, id)
    presence.begin(this.#presence, id, { tag: 'put', token: write })
    return write
  }

  async #joined(known: KnownPut): Promise<'present'> {
    if (known.tag === 'join') await known.token.durable()
    else this.#store.journal.mustBeReady()
    return 'present'
  }

  #decidePut(id: Address): presence.PutDecision<Submission> {
    return presence.decidePut(this.#presence, id, this.#isIndexed(id))
  }

  #entry(id: Address): IndexEntry | undefined {
    const entry = this.#store.lookup(KIND.object, digestOf(id))
    return presence.exists(this.#presence, id, entry !== undefined) ? entry : undefined
  }

  #isIndexed(id: Address): boolean {
    return this.#store.lookup(KIND.object, digestOf(id)) !== undefined
  }
}

/** Those of one step, from this offset on. */
function addressesIn(packedIds: Uint8Array, from: number): Address[] {
  const step = packedIds.subarray(from, from + CHUNKS_PER_STEP * DIGEST_BYTES)
  return [...digestsOf(step)].map((digest) => addressFromDigest(digest))
}

function raced(detail: string, cause?: unknown): CairnError {
  return new CairnError('StorageBusy', detail, { code: 'commit_raced', retryAfterMs: 1_000, cause })
}
