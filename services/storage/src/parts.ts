/**
 * What the routes and tasks of the service share, and how it is opened.
 *
 *     drives and peers ─▶ targets ─▶ objects, chunks and commits over all of them (`placement/`); one target is the least
 */

import type { ServiceHost } from '@cairn/http'
import {
  Bus,
  CairnError,
  type Deadline,
  type Job,
  type Lane,
  openQueue,
  type Queue,
  type Runtime,
  serveJobs,
  submit,
  type TaskBody,
  type TaskContext,
  Watch,
} from '@cairn/kernel'
import { makeDirectories, type Platform } from '@cairn/platform'
import { KIND } from '@cairn/store'
import type { Address } from '@cairn/wire'
import type { StorageConfig } from './config.ts'
import { checkDomains, erasureCodeOf } from './erasure/open-erasure.ts'
import { type CommitPlace, ManifestCommits } from './objects/manifest-commit.ts'
import { type ChunkSource, type ObjectCatalog, ObjectReader } from './objects/object-reader.ts'
import type { ObjectSink } from './objects/object-writer.ts'
import { TreeHolds } from './objects/tree-holds.ts'
import { openReplication, type Placement, type Replication } from './placement/open-replication.ts'
import { type Repaired, type RepairPace, RepairQueue } from './repair/repair-queue.ts'
import { DriveTarget } from './targets/drive-target.ts'
import { Drives } from './targets/drives.ts'
import { LocalDrive } from './targets/local-drive.ts'
import { OwnCopies } from './targets/own-copies.ts'
import { PeersGate } from './targets/peers-gate.ts'
import { Statements } from './targets/statements.ts'
import { SettledDeletes } from './targets/target.ts'
import { Scrubs } from './tasks/scrubs.ts'
import { STORAGE_TOPOLOGY } from './topology.ts'

// The `work` queue of the service: reads and writes in one bounded line, each with a pool of its own.

type DiskWorkItem = () => Promise<unknown>

/** What bounds a piece of work: a request's context has both. */
interface DiskWorkBounds {
  readonly deadline: Deadline
  readonly signal: AbortSignal
}

class DiskWorkPool {
  readonly queue: Queue<Job<DiskWorkItem, unknown>>

  constructor(runtime: Runtime) {
    this.queue = openQueue(runtime, STORAGE_TOPOLOGY, 'work', (job: Job<DiskWorkItem, unknown>) => job.cancel())
  }

  /** Runs `item` in the pool of reads. `Busy` at once if the queue is full. */
  async read<T>(item: () => Promise<T>, bounds: DiskWorkBounds): Promise<T> {
    return (await this.#run(item, bounds, 'urgent')) as T
  }

  /** Runs `item` in the pool of writes. */
  async write<T>(item: () => Promise<T>, bounds: DiskWorkBounds): Promise<T> {
    return (await this.#run(item, bounds, 'normal')) as T
  }

  readonly getWorker: TaskBody = async (context) => await this.#serve(context, 'urgent')

  readonly putWorker: TaskBody = async (context) => await this.#serve(context, 'normal')

  async #serve(context: TaskContext, lane: Lane): Promise<void> {
    const handle = async (item: DiskWorkItem, job: Job<DiskWorkItem, unknown>): Promise<unknown> => {
      const output = await item()
      // The caller has left or run out of time: only this releases what was read for it.
      if (job.ended) disposeOutput(output)
      return output
    }
    await serveJobs(this.queue, context, handle, lane)
  }

  async #run(item: DiskWorkItem, { deadline, signal }: DiskWorkBounds, lane: Lane): Promise<unknown> {
    return await submit(this.queue, item, { deadline, signal, lane })
  }
}

function disposeOutput(output: unknown): void {
  if (typeof output !== 'object' || output === null || !(Symbol.dispose in output)) return
  const { [Symbol.dispose]: dispose } = output
  if (typeof dispose === 'function') dispose.call(output)
}

export interface StorageEvents {
  'storage.ingest': {
    readonly address: Address
    readonly new: boolean
    readonly bytes: number
    readonly corr_id: string
  }
  'storage.repair.planned': { readonly repairs: number }
  'storage.repair.executed': { readonly repair: string; readonly bytes: number }
}

export interface StorageParts {
  readonly runtime: Runtime
  /** The configuration in force; read once for each request. */
  readonly config: () => StorageConfig
  readonly drives: Drives
  /** What this node holds by itself. */
  readonly own: OwnCopies
  /** Which nodes may bring copies here. */
  readonly peersGate: PeersGate
  /** What this node signs, and believes of its peers. */
  readonly statements: Statements
  /** Chunks on the drives of this node. */
  readonly ownChunks: ChunkSource
  /** Objects of every target. */
  readonly objects: ObjectCatalog
  /** Chunks of the objects of every target. */
  readonly chunks: ChunkSource
  readonly reader: ObjectReader
  readonly treeHolds: TreeHolds
  readonly writer: ObjectSink
  readonly commits: ManifestCommits
  /** How an upload becomes an object whose chunks are on this drive. */
  readonly commitPlace: (landing: DriveTarget) => CommitPlace
  readonly work: DiskWorkPool
  readonly repairs: RepairQueue
  /** Writes a damaged chunk of a drive again, if there is another copy. */
  readonly heal: (drive: LocalDrive, chunk: Address, pace: RepairPace) => Promise<Repaired>
  readonly placement: Watch<Placement | undefined>
  readonly events: Bus<StorageEvents>
  readonly scrubs: Scrubs
  readonly replication: Replication
  /** Runs after every task has ended. */
  readonly close: () => Promise<void>
}

export interface StoragePartsHost extends Pick<ServiceHost<StorageConfig>, 'platform' | 'directory' | 'config'> {
  /** The node's 32-byte identity: it signs deletes. */
  readonly identitySeed: Uint8Array
}

/** What a node calls itself that has no peers to tell. */
const SELF_NODE = 'self'

/** Opens the drives and everything around them; no task runs yet. */
export async function openParts(host: StoragePartsHost): Promise<StorageParts> {
  const { platform, config } = host
  checkPeers(config.current)
  const work = new DiskWorkPool(platform)
  const repairs = new RepairQueue(platform)
  const events = new Bus<StorageEvents>(platform, STORAGE_TOPOLOGY)
  const deletes = new SettledDeletes()
  const drives = await openDrives(host, repairs, deletes)
  const { durability, placement } = config.current
  const scrubs = new Scrubs(platform, drives.all, repairs, durability.scrub_pacing)
  const { id: node = SELF_NODE, region = '', weight: nodeWeight } = placement
  const identity = { node, region, nodeWeight }
  const isProved: Scrubs['proves'] = (drive, id, lsn) => scrubs.proves(drive, id, lsn)
  const isAlone = drives.all.length + config.current.peers.length === 1
  const targets = drives.all.map((drive) => new DriveTarget(platform, drive, { ...identity, isAlone, isProved }))
  const own = new OwnCopies(targets)
  const peersGate = await PeersGate.open(platform, {
    directory: host.directory,
    node: identity.node,
    peers: config.current.peers.map(({ id }) => id),
    keys: new Map(config.current.peers.flatMap(({ id, key }) => (key === undefined ? [] : [[id, key] as const]))),
    keepMs: durability.tombstone_keep,
  })
  const isMember = (key: string): boolean => peersGate.isMember(key)
  const statements = new Statements(platform, { seed: host.identitySeed, isMember })
  const replication = openReplication(host, { drives, gate: peersGate, deletes, targets, own, repairs, statements })
  const reader = new ObjectReader(replication.objects, replication.chunks)
  return {
    runtime: platform,
    config: () => config.current,
    drives,
    own,
    peersGate,
    statements,
    objects: replication.objects,
    chunks: replication.chunks,
    ownChunks: replication.ownChunks,
    writer: replication.writer,
    commitPlace: replication.commitPlace,
    heal: replication.heal,
    reader,
    treeHolds: new TreeHolds({ runtime: platform, workers: platform.workers, objects: replication.objects, reader }),
    commits: new ManifestCommits(platform),
    work,
    repairs,
    placement: new Watch<Placement | undefined>(undefined),
    events,
    scrubs,
    replication,
    close: async () => {
      // Queues that were never opened to requests are closed here; closing twice is closing once.
      work.queue.abort()
      repairs.queue.abort()
      events.close()
      replication.close()
      await peersGate.close()
      await drives.close()
    },
  }
}

/** Refuses what `openParts` would refuse of the configuration, without opening a drive. */
export async function checkParts({
  platform,
  directory,
  config,
}: Omit<StoragePartsHost, 'identitySeed'>): Promise<void> {
  const { drives, peers } = config.current
  checkPeers(config.current)
  const settings = (drives.length === 0 ? [directory] : drives).map((drive) =>
    typeof drive === 'string' ? { path: drive, domain: undefined } : drive,
  )
  const isListed = settings.some(({ path }) => path === directory)
  if (!isListed && (await isDirectory(platform, directory))) await mustBeListed(platform, directory)
  const code = erasureCodeOf(config.current)
  if (code === undefined) return
  const apart = settings.map(async ({ path, domain }) => {
    return { domain: domain ?? (await deviceOf(platform, path)) ?? path }
  })
  checkDomains(code, await Promise.all(apart), peers.length)
}

async function isDirectory({ disk }: Platform, path: string): Promise<boolean> {
  try {
    await disk.list(path)
    return true
  } catch {
    return false
  }
}

/** What the drive is on; nothing where there is no directory yet. */
async function deviceOf({ disk }: Platform, path: string): Promise<string | undefined> {
  try {
    return (await disk.space(path)).device
  } catch {
    return undefined
  }
}

/** Every node has to call every other by the same name, or each would place copies elsewhere. */
function checkPeers({ peers, placement }: StorageConfig): void {
  const names = [placement.id, ...peers.map(({ id }) => id)]
  const isNamed = peers.length === 0 || placement.id !== undefined
  if (isNamed && new Set(names).size === names.length) return
  const detail = isNamed
    ? 'Two of storage.placement.id and the ids of storage.peers are the same; give every node a name of its own.'
    : 'storage.peers needs storage.placement.id: what the others call this node.'
  throw new CairnError('Malformed', detail, { code: 'config' })
}

/** What was stored before there were drives would be forgotten if its directory is not one of them. */
async function mustBeListed({ disk }: Platform, directory: string): Promise<void> {
  const names = (await disk.list(directory)).map(({ name }) => name)
  if (!names.includes('journal') || names.includes('drive.json')) return
  const detail = `${directory} holds objects and is not one of storage.drives; add it to them, first or last.`
  throw new CairnError('Malformed', detail, { code: 'config' })
}

async function openDrives(
  { platform, directory, config }: StoragePartsHost,
  repairs: RepairQueue,
  deletes: SettledDeletes,
): Promise<Drives> {
  const { drives: configured, peers, durability, cache_bytes: cacheBytes, ...rest } = config.current
  const { drive_timeout: ioTimeoutMs, reserve_bytes: reserveBytes, segment_bytes: segmentBytes } = rest
  const storage = { ioTimeoutMs, reserveBytes, segmentBytes, leaseMs: rest.upload_lease }
  const settings = configured.length === 0 ? [directory] : configured
  const hasOthers = settings.length + peers.length > 1
  const isNeededElsewhere = (kind: number, id: Uint8Array): boolean => kind === KIND.object && deletes.isNeeded(id)
  const drives = settings.map((each) => {
    const { path, domain, weight } = typeof each === 'string' ? { path: each, domain: undefined, weight: 1 } : each
    return new LocalDrive(platform, {
      path,
      domain,
      weight,
      storage: {
        ...storage,
        cacheBytes: Math.floor(cacheBytes / settings.length),
        tombstoneKeepMs: durability.tombstone_keep,
        ...(hasOthers ? { isNeededElsewhere } : {}),
      },
      onDamaged: (chunk, drive) => repairs.damaged(chunk, drive.id),
    })
  })
  const tombstoneKeepMs = durability.tombstone_keep
  await makeDirectories(platform.disk, directory)
  const options = { directory, drives, tombstoneKeepMs, hasOthers }
  if (configured.length === 0 && peers.length === 0) return await Drives.alone(platform, options)
  const opened = await Drives.open(platform, options)
  try {
    await mustBeListed(platform, directory)
    return opened
  } catch (error) {
    await opened.close()
    throw error
  }
}
