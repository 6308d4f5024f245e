/** The storage service, from its parts to its port. */
import type { Health, Supervisor } from '@cairn/kernel'
import {
  type Inflate,
  type Listen,
  runService,
  type ServiceHost,
  type ServiceModule,
  type StartedService,
} from '@cairn/platform'
import { STORAGE_PORT_OFFSET, type StorageConfig, storageSection } from './config.ts'
import { STORAGE_CODES } from './errors.ts'
import { STORAGE_METRICS } from './metrics.ts'
import { openParts, type StorageParts } from './parts.ts'
import { storageRoutes } from './routes.ts'
import { summaryOf } from './summary.ts'
import { compactor } from './tasks/compactor.ts'
import { driveWatcher } from './tasks/drive-watcher.ts'
import { placementClient } from './tasks/placement-client.ts'
import { repairPlanner } from './tasks/repair-planner.ts'
import { repairWorker } from './tasks/repair-worker.ts'
import { sweeper } from './tasks/sweeper.ts'

/** A node gives what every service needs; the simulator also its own listener and decoder. */
export interface StorageHost extends ServiceHost<StorageConfig> {
  readonly listen?: Listen
  readonly inflate?: Inflate
}

export async function startStorage(host: StorageHost): Promise<StartedService<StorageConfig>> {
  return await runParts(host, await openParts(host))
}

/** The service around parts that are open; they are closed with it. */
export async function runParts(host: StorageHost, parts: StorageParts): Promise<StartedService<StorageConfig>> {
  const running = await runService({
    ...host,
    runtime: host.platform,
    conditions: ['store_writable', 'placement_cache_warm', 'durability_pacer_ready'],
    build: async ({ supervisor, health }) => {
      startTasks(host, parts, supervisor, health)
      const intake = [parts.work.queue, parts.repairs.queue]
      return await Promise.resolve({ routes: storageRoutes(parts), codes: STORAGE_CODES, intake, close: parts.close })
    },
  })
  return { running, summary: async () => await summaryOf(host, parts.storage) }
}

function startTasks(host: StorageHost, parts: StorageParts, supervisor: Supervisor, health: Health): void {
  const { platform, directory } = host
  const { pools, durability, reserve_bytes: reserveBytes } = host.config.current
  const { sweep_interval: intervalMs, repair_pacing: bytesPerSecond } = durability
  supervisor.start('get-worker', parts.work.getWorker, pools.get)
  supervisor.start('put-worker', parts.work.putWorker, pools.put)
  supervisor.start('placement-client', placementClient(parts.placement, health))
  supervisor.start('repair-planner', repairPlanner(platform, parts, intervalMs))
  supervisor.start('repair-worker', repairWorker(platform, parts, bytesPerSecond), pools.repair)
  health.meet('durability_pacer_ready')
  supervisor.start('sweeper', sweeper(platform, parts.storage, intervalMs))
  supervisor.start('compactor', compactor(platform, parts.storage, intervalMs))
  supervisor.start('scrubber', parts.scrubber.run)
  supervisor.start('drive-watcher', driveWatcher(platform, parts.storage, { directory, reserveBytes, health }))
}

export const STORAGE: ServiceModule<StorageConfig> = {
  name: 'storage',
  portOffset: STORAGE_PORT_OFFSET,
  schema: storageSection,
  metrics: STORAGE_METRICS,
  start: startStorage,
}
