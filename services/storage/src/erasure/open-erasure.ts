/** Erasure coding over the drives of this node: what takes the place of replication for objects of a stripe or more. */
import { CairnError } from '@cairn/kernel'
import type { Platform } from '@cairn/platform'
import { type Address, chunkAddress, type Manifest } from '@cairn/wire'
import type { StorageConfig } from '../config.ts'
import { partGone } from '../errors.ts'
import type { CommitPlace } from '../objects/manifest-commit.ts'
import type { ChunkSource } from '../objects/object-reader.ts'
import type { ObjectSink } from '../objects/object-writer.ts'
import type { HedgingCore } from '../placement/read-hedging-core.ts'
import type { Repaired, RepairPace, RepairQueue } from '../repair/repair-queue.ts'
import type { DriveTarget } from '../targets/drive-target.ts'
import type { LocalDrive } from '../targets/local-drive.ts'
import { ShardDrives } from './shard-drives.ts'
import { shardTarget } from './shard-target.ts'
import { isStriped, type StripeCode } from './stripe-core.ts'
import { StripedSource } from './stripe-reader.ts'
import { StripePlanner, StripeRepair } from './stripe-repair.ts'
import { StripeWriter, type VersionCounter } from './stripe-writer.ts'

export interface ErasureParts {
  readonly targets: readonly DriveTarget[]
  readonly repairs: RepairQueue
  readonly versions: VersionCounter
  readonly hedging: HedgingCore
  readonly isHedged: boolean
  /** The same for objects of less than a stripe, and for what is replicated already. */
  readonly copies: {
    readonly chunks: ChunkSource
    readonly writer: ObjectSink
    readonly commitPlace: (landing: DriveTarget) => CommitPlace
    readonly heal: (drive: LocalDrive, chunk: Address, pace: RepairPace) => Promise<Repaired>
  }
}

export interface Erasure {
  readonly code: StripeCode
  readonly planner: StripePlanner
  readonly chunks: ChunkSource
  readonly writer: ObjectSink
  readonly commitPlace: (landing: DriveTarget) => CommitPlace
  readonly heal: (drive: LocalDrive, chunk: Address, pace: RepairPace) => Promise<Repaired>
}

/** The code objects are to be striped with; nothing where they are replicated. */
export function erasureCodeOf({ durability }: StorageConfig): StripeCode | undefined {
  const { mode, data_shards: k, parity_shards: m } = durability
  return mode === 'erasure' ? { k, m } : undefined
}

/** Refuses drives that cannot keep the shards of a stripe apart. */
export function checkDomains({ k, m }: StripeCode, drives: readonly Pick<LocalDrive, 'domain'>[], peers: number): void {
  if (peers > 0) {
    const detail =
      'Shards go to the drives of this node only: take out storage.peers, or set storage.durability.mode to replicate.'
    throw new CairnError('Malformed', detail, { code: 'config' })
  }
  const domains = new Set(drives.map(({ domain }) => domain)).size
  if (domains >= k + m) return
  const detail = `storage.durability asks for ${k}+${m} shards in as many failure domains, and storage.drives has ${domains}; add drives, or say which are apart with their domain.`
  throw new CairnError('Malformed', detail, { code: 'config' })
}

export function openErasure(platform: Platform, code: StripeCode, parts: ErasureParts): Erasure {
  const { targets, repairs, versions, hedging, isHedged, copies } = parts
  const byDrive = new Map(targets.map((target) => [target.drive, shardTarget(target)]))
  const drives = new ShardDrives([...byDrive.values()])
  const writer = new StripeWriter(platform, { drives, code, versions, small: copies.writer })
  const repair = new StripeRepair(platform, drives)
  return {
    code,
    planner: new StripePlanner(platform, drives, repair, repairs),
    chunks: new StripedSource(platform, { drives, copies: copies.chunks, hedging, isHedged }),
    writer,
    commitPlace: (landing) => {
      const place = copies.commitPlace(landing)
      return {
        ...place,
        commit: async (object) => {
          const { id, size, type, chunkSize, manifest, upload } = object
          if (!isStriped(size, chunkSize, code)) return await place.commit(object)
          const chunks = chunksOf(place.chunks, manifest)
          return await writer.put({ chunks, chunkSize, type, expected: id, upload, owners: [] })
        },
      }
    },
    heal: async (drive, chunk, pace) => {
      // Pages of lists are on other drives as they are; a shard is made out of the others.
      const copied = await copies.heal(drive, chunk, pace)
      const home = byDrive.get(drive)
      if (copied.tag === 'repaired' || home === undefined) return copied
      const bytes = await repair.heal(chunk, home, pace)
      return bytes === undefined ? copied : { tag: 'repaired', bytes }
    },
  }
}

async function* chunksOf(source: ChunkSource, manifest: Manifest): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < manifest.chunkCount; at += 1) {
    const id = chunkAddress(manifest, at)
    using held = await source.read(id)
    if (held === undefined) throw partGone(id)
    yield held.bytes
  }
}
