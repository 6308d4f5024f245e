/** The storage service, from its parts to its port. */
import {
  type Inflate,
  type Listen,
  runService,
  type ServiceHost,
  type ServiceModule,
  type StartedService,
} from '@cairn/platform'
import { STORAGE_PORT_OFFSET, type StorageConfig, storageSection } from './config.ts'
import { durabilityFields } from './domain/durability-report.ts'
import { STORAGE_CODES } from './errors.ts'
import { countProblem, STORAGE_METRICS } from './metrics.ts'
import { checkParts, openParts, type StorageParts } from './parts.ts'
import { storageRoutes } from './routes.ts'
import { summaryOf } from './summary.ts'
import { startTasks } from './tasks.ts'

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
