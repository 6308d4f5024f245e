/** Interop, from its parts to its port. */
import {
  type Inflate,
  type Listen,
  runService,
  type ServiceHost,
  type ServiceModule,
  type StartedService,
} from '@cairn/platform'
import { INTEROP_PORT_OFFSET, type InteropConfig, interopSection } from './config.ts'
import { INTEROP_CODES } from './errors.ts'
import { INTEROP_METRICS } from './metrics.ts'
import { checkParts, type InteropParts, type InteropSurroundings, openParts } from './parts.ts'
import { noteRefusal } from './refusals.ts'
import { interopRoutes } from './routes.ts'
import { summaryOf } from './summary.ts'
import { readyFields } from './tasks/brownout-sentinel.ts'
import { startTasks } from './tasks.ts'

/** A node gives what every service needs, and its neighbours; the simulator also its own listener and decoder. */
export interface InteropHost extends ServiceHost<InteropConfig>, InteropSurroundings {
  readonly listen?: Listen
  readonly inflate?: Inflate
}

export async function startInterop(host: InteropHost): Promise<StartedService<InteropConfig>> {
  return await runParts(host, await openParts(host))
}

/** The service around parts that are open; they are closed with it. */
export async function runParts(host: InteropHost, parts: InteropParts): Promise<StartedService<InteropConfig>> {
  const running = await runService({
    ...host,
    runtime: host.platform,
    conditions: ['journal_whole', 'journal_writable'],
    build: ({ supervisor, health }) => {
      startTasks(host, parts, supervisor, health)
      return {
        routes: interopRoutes(parts),
        codes: INTEROP_CODES,
        onProblem: (code, request) => noteRefusal(parts, code, request),
        readyFields: (query) => readyFields(parts, query),
        intake: [parts.work, parts.audit],
        events: parts.events,
        close: parts.close,
      }
    },
  })
  return { running, summary: async () => await Promise.resolve(summaryOf(parts)) }
}

export const INTEROP: ServiceModule<InteropConfig> = {
  name: 'interop',
  about: 'Webhooks in, verified, stored, queued once, audited.',
  portOffset: INTEROP_PORT_OFFSET,
  schema: interopSection,
  metrics: INTEROP_METRICS,
  start: startInterop,
  check: checkParts,
}
