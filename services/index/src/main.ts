/** The index, from its parts to its port. */
import {
  type Inflate,
  type Listen,
  queueLane,
  runService,
  type ServiceHost,
  type ServiceModule,
  type StartedService,
} from '@cairn/platform'
import { INDEX_PORT_OFFSET, type IndexConfig, indexSection } from './config.ts'
import { INDEX_CODES } from './errors.ts'
import { INDEX_METRICS } from './metrics.ts'
import { checkParts, type IndexParts, type IndexSurroundings, openParts } from './parts.ts'
import { indexRoutes } from './routes.ts'
import { readyFields, summaryOf } from './summary.ts'
import { startTasks } from './tasks.ts'

/** A node gives what every service needs, its identity and its neighbours; the simulator also its own listener and decoder. */
export interface IndexHost extends ServiceHost<IndexConfig>, IndexSurroundings {
  readonly listen?: Listen
  readonly inflate?: Inflate
}

export async function startIndex(host: IndexHost): Promise<StartedService<IndexConfig>> {
  return await runParts(host, await openParts(host))
}

/** The service around parts that are open; they are closed with it. */
export async function runParts(host: IndexHost, parts: IndexParts): Promise<StartedService<IndexConfig>> {
  const running = await runService({
    ...host,
    runtime: host.platform,
    conditions: ['dht_client_ready'],
    build: ({ supervisor, health }) => {
      startTasks(host, parts, supervisor, health)
      return {
        routes: indexRoutes(parts),
        codes: INDEX_CODES,
        readyFields: () => readyFields(parts),
        work: queueLane(parts.facets),
        intake: [parts.intake.queue, parts.reindex, parts.facets],
        events: parts.events,
        close: parts.close,
      }
    },
  })
  return { running, summary: async () => await Promise.resolve(summaryOf(parts)) }
}

export const INDEX: ServiceModule<IndexConfig> = {
  name: 'index',
  about: 'From a name or an address to who holds the bytes.',
  portOffset: INDEX_PORT_OFFSET,
  schema: indexSection,
  metrics: INDEX_METRICS,
  start: startIndex,
  check: checkParts,
}
