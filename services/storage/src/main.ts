/** The storage service, from its parts to its port. */
import { Bus, type BusEvent, openBroadcast, openQueue } from '@cairn/kernel'
import { makeDirectories, runService, type ServiceHost, type ServiceModule, type StartedService } from '@cairn/platform'
import { Storage } from '@cairn/store'
import { STORAGE_PORT_OFFSET, type StorageConfig, storageSection } from './config.ts'
import { ObjectReader } from './domain/object-reader.ts'
import { ObjectWriter } from './domain/object-writer.ts'
import { STORAGE_METRICS } from './metrics.ts'
import type { StorageEvents, StorageParts } from './parts.ts'
import { storageRoutes } from './routes.ts'
import { type Repair, repairPlanner, repairWorker } from './tasks/repair.ts'
import { Scrubber } from './tasks/scrubber.ts'
import { compactor, driveWatcher, sweeper } from './tasks/upkeep.ts'
import { STORAGE_TOPOLOGY } from './topology.ts'
import { Work } from './work.ts'

/** Storage keeps one copy while it has one target, and says so. */
const ONE_TARGET = { copies: 1 }

async function start(host: ServiceHost<StorageConfig>): Promise<StartedService<StorageConfig>> {
  const { platform, directory } = host
  const { cache_bytes: cacheBytes, drive_timeout: ioTimeoutMs, pools, durability } = host.config.current
  await makeDirectories(platform.disk, directory)
  const storage = await Storage.open(platform, { path: directory, cacheBytes, ioTimeoutMs })
  const work = new Work(platform)
  const repairs = openQueue<Repair, typeof STORAGE_TOPOLOGY>(platform, STORAGE_TOPOLOGY, 'repair')
  const events = openBroadcast<BusEvent<StorageEvents>, typeof STORAGE_TOPOLOGY>(platform, STORAGE_TOPOLOGY, 'events')
  const scrubber = new Scrubber(platform, storage, { directory, bytesPerSecond: durability.scrub_pacing })
  const parts: StorageParts = {
    runtime: platform,
    config: () => host.config.current,
    storage,
    reader: new ObjectReader(storage),
    writer: new ObjectWriter(storage),
    work,
    events: new Bus(events),
    scrubber,
  }
  const running = await runService({
    ...host,
    runtime: platform,
    conditions: ['store_writable'],
    build: async ({ supervisor, health }) => {
      const { sweep_interval: intervalMs } = durability
      supervisor.start('get-worker', work.getWorker, pools.get)
      supervisor.start('put-worker', work.putWorker, pools.put)
      supervisor.start(
        'repair-planner',
        repairPlanner(platform, storage, { queue: repairs, intervalMs, placement: () => ONE_TARGET }),
      )
      supervisor.start(
        'repair-worker',
        repairWorker(platform, storage, repairs, durability.repair_pacing),
        pools.repair,
      )
      supervisor.start('sweeper', sweeper(platform, storage, intervalMs))
      supervisor.start('compactor', compactor(platform, storage, intervalMs))
      supervisor.start('scrubber', scrubber.run)
      supervisor.start('drive-watcher', driveWatcher(platform, storage, health))
      return await Promise.resolve({
        routes: storageRoutes(parts),
        intake: [work.queue, repairs],
        close: async () => {
          events.close()
          await storage.close()
        },
      })
    },
  })
  return { running, summary: async () => await summary(host, storage) }
}

/** Objects counted for the banner; past it the count would cost more than it says. */
const COUNT_MAX = 10_000

async function summary({ platform, directory }: ServiceHost<StorageConfig>, storage: Storage): Promise<string> {
  const objects = (await storage.objects.list(undefined, COUNT_MAX)).length
  const { freeBytes } = await platform.disk.space(directory)
  const count = objects === COUNT_MAX ? `more than ${COUNT_MAX}` : String(objects)
  return `${directory} · ${count} objects · ${Math.round(freeBytes / 1e9)} GB free · copies: 1 (one drive)`
}

export const STORAGE: ServiceModule<StorageConfig> = {
  name: 'storage',
  portOffset: STORAGE_PORT_OFFSET,
  schema: storageSection,
  metrics: STORAGE_METRICS,
  start,
}
