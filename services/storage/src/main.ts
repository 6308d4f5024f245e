/** The storage service, from its parts to its port. */

import {
  defineRoutes,
  eventsRoute,
  type Listen,
  type RouteTable,
  runService,
  type ServiceHost,
  type ServiceModule,
  type StartedService,
} from '@cairn/http'
import type { Health, Supervisor } from '@cairn/kernel'
import { type Inflate, MaintenanceLock } from '@cairn/platform'
import { spellCount } from '@cairn/wire'
import { STORAGE_PORT_OFFSET, type StorageConfig, storageSection } from './config.ts'
import { STORAGE_CODES } from './errors.ts'
import { countProblem, STORAGE_METRICS } from './metrics.ts'
import { checkParts, openParts, type StorageParts } from './parts.ts'
import { placementClient } from './placement/open-replication.ts'
import { durabilityFields, durabilityLine } from './repair/durability-report.ts'
import { adminRoutes } from './routes/admin.ts'
import { chunkRoutes } from './routes/chunks.ts'
import { copyRoutes } from './routes/copies.ts'
import { manifestRoutes } from './routes/manifests.ts'
import { objectReads } from './routes/object-reads.ts'
import { objectWrites, referenceRoutes } from './routes/object-writes.ts'
import { driveWatcher } from './tasks/drive-watcher.ts'
import { repairPlanner } from './tasks/repair-planner.ts'
import { repairWorker } from './tasks/repair-worker.ts'
import { compactor, sweeper } from './tasks/rounds.ts'

/** Every task of the storage service but those that all services have. */
export function startTasks(
  { platform, config, maintenanceLock = new MaintenanceLock() }: ServiceHost<StorageConfig>,
  parts: StorageParts,
  supervisor: Supervisor,
  health: Health,
): void {
  const { pools, durability } = config.current
  const { sweep_interval: intervalMs, repair_pacing: bytesPerSecond } = durability
  const onChange = (): void => parts.repairs.wakePlanner()
  supervisor.start('get-worker', parts.work.getWorker, pools.get)
  supervisor.start('put-worker', parts.work.putWorker, pools.put)
  supervisor.start('placement-client', placementClient(parts.placement, parts.replication, onChange))
  supervisor.start('repair-planner', repairPlanner(platform, parts, intervalMs))
  supervisor.start('repair-worker', repairWorker(platform, parts, bytesPerSecond), pools.repair)
  supervisor.start('sweeper', sweeper(platform, parts.drives, maintenanceLock, intervalMs))
  supervisor.start('compactor', compactor(platform, parts.drives, maintenanceLock, intervalMs))
  supervisor.start('scrubber', parts.scrubs.run)
  supervisor.start('drive-watcher', driveWatcher(platform, parts.drives, { health, onChange }))
}

/** Every route of the storage service. */
export function storageRoutes(parts: StorageParts): RouteTable {
  return defineRoutes([
    ...objectReads(parts),
    ...objectWrites(parts),
    ...chunkRoutes(parts),
    ...manifestRoutes(parts),
    ...referenceRoutes(parts),
    ...copyRoutes(parts),
    ...adminRoutes(parts),
    eventsRoute(parts.runtime.clock, parts.events),
  ])
}

/** Objects counted for the banner; past it the count would cost more than it says. */
const COUNT_MAX = 1000

/** One line: where the data is, how much there is, and how many copies of it. */
export async function summaryOf(
  { platform, directory }: ServiceHost<StorageConfig>,
  parts: StorageParts,
): Promise<string> {
  const objects = (await parts.objects.list(undefined, COUNT_MAX)).length
  const { freeBytes } = await platform.disk.space(directory)
  const count = objects === COUNT_MAX ? `${spellCount(COUNT_MAX, 'object')} or more` : spellCount(objects, 'object')
  return `${directory} · ${count} · ${Math.round(freeBytes / 1e9)} GB free · ${durabilityLine(parts)}`
}

/** A node gives what every service needs; the simulator also its own listener and decoder. */
export interface StorageHost extends ServiceHost<StorageConfig> {
  readonly identitySeed: Uint8Array
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
    conditions: ['store_writable'],
    build: ({ supervisor, health }) => {
      startTasks(host, parts, supervisor, health)
      return {
        routes: storageRoutes(parts),
        codes: STORAGE_CODES,
        onProblem: (code) => countProblem(host.platform.metrics, code),
        intake: [parts.work.queue, parts.repairs.queue],
        events: parts.events,
        readyFields: () => durabilityFields(parts),
        close: parts.close,
      }
    },
  })
  return { running, summary: async () => await summaryOf(host, parts) }
}

export const STORAGE: ServiceModule<StorageConfig> = {
  name: 'storage',
  about: 'Objects by the hash of their bytes.',
  portOffset: STORAGE_PORT_OFFSET,
  schema: storageSection,
  metrics: STORAGE_METRICS,
  start: startStorage,
  check: checkParts,
}
