/** Objects over every target there is: the drives of this node, and its peers. */

import { Breakers, type TaskBody, type Watch } from '@cairn/kernel'
import type { Platform } from '@cairn/platform'
import { checkDomains, type Erasure, type ErasureParts, erasureCodeOf, openErasure } from '../erasure/open-erasure.ts'
import type { ChunkSource } from '../objects/object-reader.ts'
import type { StorageParts, StoragePartsHost } from '../parts.ts'
import { healChunk } from '../repair/object-repairs.ts'
import { RepairPlan } from '../repair/repair-plan.ts'
import type { RepairQueue } from '../repair/repair-queue.ts'
import { DriveTarget } from '../targets/drive-target.ts'
import type { Drives } from '../targets/drives.ts'
import { OwnChunks, type OwnCopies } from '../targets/own-copies.ts'
import { type PeerOptions, type PeerSettings, PeerTarget } from '../targets/peer-target.ts'
import { type PeersGate, PeerWatch } from '../targets/peers-gate.ts'
import type { Statements } from '../targets/statements.ts'
import type { ObjectTarget, SettledDeletes } from '../targets/target.ts'
import { CopyReader } from './copy-reader.ts'
import { createHedging } from './read-hedging-core.ts'
import { RemoteObjects } from './remote-objects.ts'
import { Replicas } from './replicas.ts'
import { ReplicatedObjects } from './replicated-objects.ts'
import { ReplicatedWriter } from './replicated-writer.ts'

/** Where copies should be. */
export interface Placement {
  /** Copies each object should have. */
  readonly copies: number
  /** Drives and peers that can hold one. */
  readonly targets: number
}

/**
 * Says where copies should be, and keeps fresh which peers are there. Targets are configured, so without peers there is
 * nothing to keep fresh: it says so once, and ends.
 */
export function placementClient(
  placement: Watch<Placement | undefined>,
  { replicas, peers }: Pick<Replication, 'replicas' | 'peers'>,
  onChange: () => void,
): TaskBody {
  return async ({ draining }) => {
    placement.set({ copies: replicas.copies, targets: replicas.targets.length })
    if (peers.count === 0) return
    for (;;) {
      if (await peers.round(draining)) onChange()
      await peers.pause(draining)
    }
  }
}

export interface Replication
  extends Pick<StorageParts, 'objects' | 'chunks' | 'ownChunks' | 'writer' | 'commitPlace' | 'heal'> {
  readonly replicas: Replicas
  readonly plan: RepairPlan
  readonly peers: PeerWatch
  /** Where objects of a stripe or more are erasure-coded. */
  readonly erasure: Erasure | undefined
  readonly close: () => void
}

export interface ReplicationParts {
  readonly drives: Drives
  readonly gate: PeersGate
  readonly deletes: SettledDeletes
  readonly targets: readonly DriveTarget[]
  readonly own: OwnCopies
  readonly repairs: RepairQueue
  readonly statements: Statements
}

export function openReplication(
  { platform, config }: StoragePartsHost,
  { drives: local, gate, deletes, targets: drives, own, repairs, statements }: ReplicationParts,
): Replication {
  const { peers: configured, placement, durability } = config.current
  const code = erasureCodeOf(config.current)
  if (code !== undefined) checkDomains(code, local.all, configured.length)
  const breakers = new Breakers(platform)
  const late = new Set<string>()
  const onVersion = (version: number): boolean => replicas.observe(version)
  const peers = openPeers(platform, configured, { breakers, gate, late, statements, onVersion })
  const targets: ObjectTarget[] = [...drives, ...peers]
  const remote = new RemoteObjects()
  const replicas = new Replicas(platform, {
    targets,
    own,
    // What is too small for shards survives as many losses as they do.
    copies: code === undefined ? durability.replication_factor : code.m + 1,
    allowsDegraded: () => config.current.durability.allow_degraded_writes,
    timeoutMs: placement.peer_timeout,
    version: Math.max(gate.version, ...drives.map(({ drive }) => lsnOf(drive))),
    isExpired: (target) => isExpired(target, local, gate),
    signDelete: peers.length === 0 ? undefined : (id, version) => statements.signDelete(id, version),
    onDegraded: (id) => void repairs.tryRequest(id),
  })
  const watched = { peers, breakers, gate, drives: local, late, highest: () => replicas.highestVersion }
  const hedging = createHedging(placement.hedge_delay)
  const isHedged = placement.hedged_reads
  const copyReader = new CopyReader(platform, replicas, {
    drives,
    remote,
    hedging,
    isHedged,
    onDeceived: (target) => {
      if (target instanceof PeerTarget) target.distrust()
    },
    onBadCopy: (id) => void repairs.tryRequest(id),
  })
  const ownChunks = new OwnChunks(local, own)
  // There is no second copy to be quicker than the first.
  const copies = wholeCopies(platform, replicas, replicas.isAlone ? ownChunks : copyReader)
  const versions = { next: () => replicas.nextVersion(), observe: (version: number) => replicas.observe(version) }
  const erasure =
    code === undefined
      ? undefined
      : openErasure(platform, code, { targets: drives, repairs, versions, hedging, isHedged, copies })
  const { chunks, writer: puts, commitPlace, heal } = erasure ?? copies
  return {
    replicas,
    erasure,
    plan: new RepairPlan(platform, {
      node: placement.id ?? 'self',
      replicas,
      repairs,
      chunks,
      deletes,
      isExpired: (target) => isExpired(target, local, gate),
      stripes: erasure,
    }),
    peers: new PeerWatch(platform, { ...watched, timeoutMs: placement.peer_timeout }),
    objects: new ReplicatedObjects(replicas, remote),
    chunks,
    ownChunks,
    writer: puts,
    commitPlace,
    heal,
    close: () => breakers.close(),
  }
}

interface PeerParts extends Pick<PeerOptions, 'breakers' | 'statements' | 'onVersion'> {
  readonly gate: PeersGate
  readonly late: Set<string>
}

function openPeers(platform: Platform, configured: readonly PeerSettings[], parts: PeerParts): PeerTarget[] {
  const { gate, late, ...options } = parts
  return configured.map((settings) => {
    const onTooLate = (): void => void late.add(settings.id)
    const onKey = (key: string): void => gate.introduced(settings.id, key)
    return new PeerTarget(platform, { ...options, settings, headers: () => gate.headers(), onTooLate, onKey })
  })
}

/** Objects as whole copies: how they are read, written and healed. */
function wholeCopies(platform: Platform, replicas: Replicas, chunks: ChunkSource): ErasureParts['copies'] {
  const writer = new ReplicatedWriter(platform, replicas, chunks)
  return {
    chunks,
    writer,
    commitPlace: (landing) => ({
      chunks: landing.drive.contents.chunks,
      commit: async (object) => {
        const { stored, ...copies } = await writer.spread({ ...object, owners: [] }, landing)
        return { isNew: stored === 'new', copies }
      },
    }),
    heal: async (drive, chunk, pace) => await healChunk(platform, replicas, { drive, chunk }, pace),
  }
}

function isExpired(target: ObjectTarget, drives: Drives, gate: PeersGate): boolean {
  return target instanceof DriveTarget ? drives.isExpired(target.drive) : gate.isExpired(target.identity.id)
}

function lsnOf({ state }: DriveTarget['drive']): number {
  return state.tag === 'open' ? state.storage.facts().syncedLsn : 0
}
