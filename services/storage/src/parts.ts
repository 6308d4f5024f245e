/** What the routes and tasks of the service share, and how it is opened. */
import { Bus, type Runtime, Watch } from '@cairn/kernel'
import { makeDirectories, type Platform, type ServiceHost } from '@cairn/platform'
import { Storage } from '@cairn/store'
import type { Address } from '@cairn/wire'
import type { StorageConfig } from './config.ts'
import { ChunkReader } from './domain/chunk-reader.ts'
import { ManifestCommits } from './domain/manifest-commit.ts'
import { ObjectReader } from './domain/object-reader.ts'
import { ObjectWriter } from './domain/object-writer.ts'
import { Repairs } from './domain/repairs.ts'
import type { Placement } from './tasks/placement-client.ts'
import { Scrubber } from './tasks/scrubber.ts'
import { STORAGE_TOPOLOGY } from './topology.ts'
import { Work } from './work.ts'

export interface StorageEvents {
  'storage.ingest': {
    readonly address: Address
    readonly new: boolean
    readonly bytes: number
    readonly corr_id: string
  }
  'storage.repair.planned': { readonly chunks: number }
  'storage.repair.executed': { readonly chunk: Address; readonly bytes: number }
}

export interface StorageParts {
  readonly runtime: Runtime
  /** The configuration in force; read once for each request. */
  readonly config: () => StorageConfig
  readonly storage: Storage
  readonly chunks: ChunkReader
  readonly reader: ObjectReader
  readonly writer: ObjectWriter
  readonly commits: ManifestCommits
  readonly work: Work
  readonly repairs: Repairs
  readonly placement: Watch<Placement | undefined>
  readonly events: Bus<StorageEvents>
  readonly scrubber: Scrubber
  /** Runs after every task has ended. */
  readonly close: () => Promise<void>
}

/** Opens the store under the service's directory and everything around it; no task runs yet. */
export async function openParts(
  host: Pick<ServiceHost<StorageConfig>, 'platform' | 'directory' | 'config'>,
): Promise<StorageParts> {
  const { platform, directory } = host
  const storage = await openStorage(platform, directory, host.config.current)
  const work = new Work(platform)
  const repairs = new Repairs(platform)
  const chunks = new ChunkReader(platform, storage.chunks, repairs)
  const events = new Bus<StorageEvents>(platform, STORAGE_TOPOLOGY)
  const reader = new ObjectReader(storage.objects, chunks)
  const { scrub_pacing: bytesPerSecond } = host.config.current.durability
  return {
    runtime: platform,
    config: () => host.config.current,
    storage,
    chunks,
    reader,
    writer: new ObjectWriter(storage),
    commits: new ManifestCommits(platform, storage, chunks),
    work,
    repairs,
    placement: new Watch<Placement | undefined>(undefined),
    events,
    scrubber: new Scrubber(platform, storage, { reader, repairs, directory, bytesPerSecond }),
    close: async () => {
      // Queues that were never opened to requests are closed here; closing twice is closing once.
      work.queue.abort()
      repairs.queue.abort()
      events.close()
      await storage.close()
    },
  }
}

async function openStorage(platform: Platform, path: string, config: StorageConfig): Promise<Storage> {
  const { cache_bytes: cacheBytes, drive_timeout: ioTimeoutMs, reserve_bytes: reserveBytes } = config
  const { segment_bytes: segmentBytes, upload_lease: leaseMs } = config
  await makeDirectories(platform.disk, path)
  return await Storage.open(platform, { path, cacheBytes, ioTimeoutMs, reserveBytes, segmentBytes, leaseMs })
}
