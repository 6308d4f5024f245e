/**
 * Objects of a store that is one of several: puts and deletes are ordered by a version, not by when they arrive.
 *
 *     commit v │ tombstone newer than v ──▶ refused     remove v │ object as new as v, or newer ──▶ refused
 *              │ object as new, or newer ─▶ present              │ tombstone as new, or newer ───▶ nothing to do
 *              └ else ────────────────────▶ written              └ else ─▶ written, whether or not there is an object
 *
 * Everything about one object happens one after the other, so that what was decided still holds when it is written.
 */
import { CairnError, isKind, Semaphore } from '@cairn/kernel'
import { type Address, addressFromDigest, digestOf } from '@cairn/wire'
import type { SegmentChunkStore } from '../chunk/segment-chunk-store.ts'
import type { IndexEntry } from '../index/keydir-core.ts'
import { KIND, type RecordStore } from '../record-store.ts'
import { digestsOf, type ObjectFacts, packDigests, tombstoneRecord, tombstoneVersion } from './object-record.ts'
import {
  hasDifferentChunkSize,
  type ObjectCommit,
  type ObjectStore,
  type RecordVersion,
  type Removal,
  type StripeCommit,
} from './object-store.ts'
import { readSharedShards } from './references.ts'

export type KnownVersion =
  | {
      readonly tag: 'absent'
      /** There is a record of the object that is damaged. */
      readonly isDamaged?: true
    }
  | RecordVersion
  | {
      readonly tag: 'tombstone'
      readonly version: number
      /** The signed statement it was written with. */
      readonly record?: Uint8Array
    }

const NONE = new Uint8Array(0)

export interface VersionRow {
  readonly id: Address
  readonly known: Exclude<KnownVersion, { tag: 'absent' }>
}

export interface VersionedCommit extends ObjectCommit {
  readonly version: number
}

interface Turn {
  readonly line: Semaphore
  waiting: number
}

export class ObjectCopies {
  readonly #store: RecordStore
  readonly #chunks: SegmentChunkStore
  readonly #objects: ObjectStore
  readonly #turns = new Map<Address, Turn>()

  constructor(store: RecordStore, chunks: SegmentChunkStore, objects: ObjectStore) {
    this.#store = store
    this.#chunks = chunks
    this.#objects = objects
  }

  /** What is going is not known as an object any more, and not yet as gone: that is waited for. */
  async known(id: Address): Promise<KnownVersion> {
    await this.#objects.removalOver(id)
    const entry = this.#store.lookupNewest(KIND.object, digestOf(id))
    if (entry === undefined) return { tag: 'absent' }
    const known = await this.#soundVersionOf(id, entry)
    return known ?? (entry.isTombstone ? { tag: 'absent' } : { tag: 'absent', isDamaged: true })
  }

  /** Like `ObjectStore.commit`, with a version. `Conflict` `newer_version`, with it as the cause, if it was deleted since. */
  async commit(object: VersionedCommit): Promise<'new' | 'present'> {
    return await this.#inTurn(object.id, async () => {
      try {
        return await this.#take(object)
      } catch (error) {
        if (!isKind(error, 'Integrity') || error.code !== 'record_damaged') throw error
        // It was remembered, and is no more: now it is put as where there is none.
        return await this.#take(object)
      }
    })
  }

  async #take(object: VersionedCommit): Promise<'new' | 'present'> {
    const known = await this.known(object.id)
    if (known.tag === 'tombstone' && known.version > object.version) throw newerVersion(object.id, known.version)
    if (known.tag !== 'object') return await this.#objects.commit(object)
    if (object.stripes !== undefined) await this.#takeShare(object, object.stripes, known.version)
    else if (known.isStriped === true) await this.#takeWhole(object, known.version)
    else if (known.version < object.version) await this.#renew(object)
    else this.#store.journal.mustBeReady()
    if (object.stripes === undefined) await this.#objects.restorePages(object)
    for (const owner of object.owners ?? []) await this.#objects.hold(owner, object.id)
    return 'present'
  }

  /** Remembers the delete. `referenced` if an owner holds the object; `newer_version` if it was put since. */
  async remove(id: Address, removal: Removal): Promise<void> {
    const { version } = removal
    await this.#inTurn(id, async () => {
      const known = await this.known(id)
      if (known.tag === 'object' && known.version >= version) throw newerVersion(id, known.version)
      if (known.tag === 'tombstone' && known.version >= version) {
        this.#store.journal.mustBeReady()
        return
      }
      await this.#objects.deleteVersioned(id, removal)
    })
  }

  /** Removes a copy that is one too many, if it is still this version. That says nothing about the object: version 0. */
  async drop(id: Address, version: number): Promise<void> {
    await this.#inTurn(id, async () => {
      const known = await this.known(id)
      if (known.tag === 'object' && known.version === version)
        await this.#objects.deleteVersioned(id, { version: 0, isAgreed: true })
    })
  }

  /** Objects and tombstones in order, after the given one. */
  async page(after: Address | undefined, limit: number): Promise<VersionRow[]> {
    const from = after === undefined ? undefined : digestOf(after)
    const rows: VersionRow[] = []
    for (const { id: digest, entry } of await this.#store.records(KIND.object, from, limit)) {
      const id = addressFromDigest(digest)
      const known = await this.#soundVersionOf(id, entry)
      if (known !== undefined) rows.push({ id, known })
    }
    return rows
  }

  /**
   * The same object, put again: only its record changes, and it can be read all the while. Copies of one version are cut
   * in the same way, so that each can give the others what they have lost.
   */
  async #renew(object: VersionedCommit): Promise<void> {
    const { id, version } = object
    const facts = await this.#objects.stat(id)
    if (facts === undefined) throw going()
    if (hasDifferentChunkSize(facts, object)) return await this.#objects.rewrite(object, facts)
    await this.#objects.submitAgain(id, { ...facts, version }).durable()
  }

  /** A share is no copy: it gives way to a whole one that is newer. */
  async #takeWhole(object: VersionedCommit, version: number): Promise<void> {
    if (version > object.version) throw newerVersion(object.id, version)
    const facts = await this.#objects.stat(object.id)
    if (facts === undefined) throw going()
    await this.#objects.rewrite(object, facts)
  }

  /**
   * A share grows by what is new of it; one whose own list is damaged is written anew out of what is given; an older
   * generation, or a whole copy, gives way to a newer one.
   */
  async #takeShare(object: VersionedCommit, stripes: StripeCommit, version: number): Promise<void> {
    const facts = await this.#objects.stat(object.id)
    if (facts === undefined) throw going()
    const isSame = facts.stripes?.generation === stripes.generation
    if (!isSame && version > object.version) throw newerVersion(object.id, version)
    const isSound = isSame && (await this.#objects.isShareSound(facts))
    const unlisted = isSound ? await this.#notListed(object.id, facts, stripes.share) : undefined
    // A shard that was lost since must be here again, and durable, before it is said that the share is.
    const fresh = [...digestsOf(stripes.share)].filter((shard) => {
      const id = addressFromDigest(shard)
      const isKept = unlisted !== undefined && !unlisted.has(id)
      return !isKept || !this.#chunks.exists(id)
    })
    if (isSound && fresh.length === 0 && version >= object.version) return this.#store.journal.mustBeReady()
    const share = packDigests(fresh)
    const newest = Math.max(version, object.version)
    await this.#objects.rewrite({ ...object, version: newest, stripes: { ...stripes, share } }, facts)
  }

  /** Those of the shards given that the share does not list. */
  async #notListed(object: Address, { stripes }: ObjectFacts, given: Uint8Array): Promise<Set<Address>> {
    const unlisted = new Set(Array.from(digestsOf(given), addressFromDigest))
    for await (const shards of readSharedShards(this.#chunks, digestOf(object), stripes?.sharePages ?? NONE))
      for (const shard of shards) unlisted.delete(addressFromDigest(shard))
    return unlisted
  }

  /**
   * An object whose record is damaged is no copy of it: it is put again, or copied from elsewhere. A delete stays one, of
   * the lowest version since its own is not known: any other target that knows of it writes it anew here.
   */
  async #soundVersionOf(id: Address, entry: IndexEntry): Promise<Exclude<KnownVersion, { tag: 'absent' }> | undefined> {
    try {
      return await this.#versionOf(id, entry)
    } catch (error) {
      if (!isKind(error, 'Integrity')) throw error
      return entry.isTombstone ? { tag: 'tombstone', version: 0 } : undefined
    }
  }

  /** A record never changes, so that one which was read lately need not be read again: repair asks for all of them. */
  async #versionOf(id: Address, entry: IndexEntry): Promise<Exclude<KnownVersion, { tag: 'absent' }>> {
    if (!entry.isTombstone) {
      const recent = this.#objects.versions.get(id)
      if (recent?.lsn === entry.lsn && !this.#store.isDamagedAt(entry.place)) return recent
      const { version, stripes } = await this.#objects.readFacts(entry)
      const plain = { tag: 'object', version, lsn: entry.lsn } as const
      const object: RecordVersion = stripes === undefined ? plain : { ...plain, isStriped: true }
      this.#objects.versions.add(id, object)
      return object
    }
    const { payload } = await this.#store.journal.read(entry.place)
    const record = tombstoneRecord(payload)
    return { tag: 'tombstone', version: tombstoneVersion(payload), ...(record === undefined ? {} : { record }) }
  }

  async #inTurn<T>(id: Address, work: () => Promise<T>): Promise<T> {
    const turn = this.#turns.get(id) ?? { line: new Semaphore(1), waiting: 0 }
    this.#turns.set(id, turn)
    turn.waiting += 1
    try {
      using _permit = await turn.line.acquire()
      return await work()
    } finally {
      turn.waiting -= 1
      if (turn.waiting === 0) this.#turns.delete(id)
    }
  }
}

function going(): CairnError {
  return new CairnError('StorageBusy', 'The object is going; try again.', { code: 'not_ready' })
}

function newerVersion(id: Address, version: number): CairnError {
  const detail = `${id} was put or deleted here with a newer version, ${version}.`
  return new CairnError('Conflict', detail, { code: 'newer_version', cause: version })
}
