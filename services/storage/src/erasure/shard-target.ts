/** What erasure coding needs of a target; a drive of this node is one. */
import { CairnError, isKind, toCairnError } from '@cairn/kernel'
import {
  type ChunkBytes,
  laterOf,
  type ObjectCommit,
  type ObjectFacts,
  type StripeCommit,
  type Submission,
} from '@cairn/store'
import { type Address, addressOf, digestOf } from '@cairn/wire'
import type { DriveTarget } from '../targets/drive-target.ts'
import type { TargetHealth, WriteOutcome } from '../targets/target.ts'
import type { Home } from './stripe-core.ts'

/** An object's record with the share of its shards that one target keeps. */
export interface ShareCommit extends Omit<ObjectCommit, 'version' | 'stripes'> {
  readonly version: number
  readonly stripes: StripeCommit
}

export interface WrittenShards {
  /** How many were not there before. */
  readonly fresh: number
  /** What has to be waited for, if any was not durable already. */
  readonly last: Submission | undefined
}

export interface ShardTarget extends Home {
  readonly weight: number
  readonly node: string
  readonly region: string
  health(): TargetHealth
  /** Takes shards in; they are durable once `settled` says so, or a share that names them is. */
  write(shards: readonly Uint8Array[], upload: string): Promise<WrittenShards>
  /** Resolves once this, and everything written before it, is durable. */
  settled(last: Submission): Promise<void>
  /** Takes one shard; it is durable when this resolves, and one that was damaged is sound again. */
  put(shard: Uint8Array, upload: string): Promise<void>
  /** Makes the object's record and its share durable. */
  commit(share: ShareCommit): Promise<WriteOutcome>
  /** The bytes, proved; `undefined` if there is no such shard, `Integrity` if what is there is not the shard. */
  read(id: Address): Promise<ChunkBytes | undefined>
  /** The record of the object, if it has one. */
  stat(object: Address): Promise<ObjectFacts | undefined>
  /** Which of the shards are durable there, whether or not it keeps them for anybody, in the order given. */
  has(ids: readonly Address[]): readonly boolean[]
  /** Which of the shards it keeps for the object, as far as it knows, in the order given. */
  keeps(object: Address, ids: readonly Address[]): Promise<readonly boolean[]>
  /** Objects it keeps this shard, or page, for. */
  referrers(id: Address): Promise<readonly Address[]>
  owners(object: Address): Promise<readonly string[]>
}

export function shardTarget(target: DriveTarget): ShardTarget {
  const contents = (): DriveTarget['drive']['contents'] => target.drive.contents
  return {
    get id() {
      return target.identity.id
    },
    get domain() {
      return target.identity.domain
    },
    get weight() {
      return target.identity.weight
    },
    get node() {
      return target.identity.node
    },
    get region() {
      return target.identity.region
    },
    health: () => target.health(),
    write: async (shards, upload) => await writing(async () => await writeLazily(contents().storage, shards, upload)),
    settled: async (last) => {
      await writing(async () => await last.durable())
    },
    put: async (shard, upload) => {
      await writing(async () => await contents().storage.chunks.put(addressOf(shard), shard, { upload }))
    },
    commit: async (share) => await writing(async () => await contents().storage.copies.commit(share)),
    read: async (id) => await contents().chunks.read(id),
    stat: async (object) => await contents().storage.objects.stat(object),
    has: (ids) => ids.map((id) => contents().storage.chunks.exists(id)),
    keeps: async (object, ids) => {
      const { chunks, objects, referrers } = contents().storage
      const facts = await objects.stat(object)
      if (facts === undefined) return ids.map(() => false)
      const listed = await listedShards(referrers, object, facts, ids)
      return ids.map((id, at) => chunks.exists(id) && listed?.[at] !== false)
    },
    referrers: async (id) => await contents().storage.referrers.of(id),
    owners: async (object) => await contents().storage.objects.holds.owners(object),
  }
}

/** Which of the shards its share of the object lists; `undefined` if the list is damaged: then what it keeps can only be seen. */
async function listedShards(
  referrers: DriveTarget['drive']['contents']['storage']['referrers'],
  object: Address,
  facts: ObjectFacts,
  ids: readonly Address[],
): Promise<readonly boolean[] | undefined> {
  try {
    const shards = ids.map((id) => digestOf(id))
    return await referrers.keeps(digestOf(object), facts, shards)
  } catch (error) {
    if (isKind(error, 'Integrity')) return undefined
    throw error
  }
}

/** Written but not synced: a sync that comes later covers them, and without it nobody was told. */
async function writeLazily(
  { chunks }: DriveTarget['drive']['contents']['storage'],
  shards: readonly Uint8Array[],
  upload: string,
): Promise<WrittenShards> {
  let fresh = 0
  let last: Submission | undefined
  const writes: Promise<void>[] = []
  for (const shard of shards) {
    const submitted = chunks.submit(addressOf(shard), shard, upload, { lazy: true, isProved: true })
    if (submitted === 'present') continue
    writes.push(submitted.write.written())
    last = laterOf(last, submitted.write)
    if (submitted.isNew) fresh += 1
  }
  await Promise.all(writes)
  return { fresh, last }
}

/** A drive that fails in the middle of a write is one that does not take it. */
async function writing<T>(write: () => Promise<T>): Promise<T> {
  try {
    return await write()
  } catch (error) {
    const { kind, message, code } = toCairnError(error)
    const isItsFault = kind === 'Internal' || kind === 'NotFound' || kind === 'Canceled' || code === 'missing_chunks'
    if (!isItsFault) throw error
    throw new CairnError('StorageBusy', message, { code: 'write_failed', retryAfterMs: 1000, cause: error })
  }
}
