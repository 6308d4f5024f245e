/** The registry, from its parts to its port. */
import {
  type Inflate,
  type Listen,
  runService,
  type ServiceHost,
  type ServiceModule,
  type StartedService,
} from '@cairn/platform'
import { REGISTRY_PORT_OFFSET, type RegistryConfig, registrySection } from './config.ts'
import { REGISTRY_CODES } from './errors.ts'
import { REGISTRY_METRICS } from './metrics.ts'
import { checkParts, openParts, type RegistryParts, type RegistrySurroundings } from './parts.ts'
import { registryRoutes } from './routes.ts'
import { summaryOf } from './summary.ts'
import { readyFields } from './tasks/health-gate.ts'
import { startTasks } from './tasks.ts'

/** A node gives what every service needs, and its storage; the simulator also its own listener and decoder. */
export interface RegistryHost extends ServiceHost<RegistryConfig>, RegistrySurroundings {
  readonly listen?: Listen
  readonly inflate?: Inflate
}

export async function startRegistry(host: RegistryHost): Promise<StartedService<RegistryConfig>> {
  return await runParts(host, await openParts(host))
}

/** The service around parts that are open; they are closed with it. */
export async function runParts(host: RegistryHost, parts: RegistryParts): Promise<StartedService<RegistryConfig>> {
  const running = await runService({
    ...host,
    runtime: host.platform,
    // What is in memory is served whatever the drive does; whether writes are taken is a class of its own.
    conditions: [],
    build: ({ supervisor }) => {
      startTasks(host, parts, supervisor)
      const { events, intake, retention, close } = parts
      return {
        routes: registryRoutes(parts),
        codes: REGISTRY_CODES,
        readyFields: (query) => readyFields(parts, query),
        intake: [intake, retention],
        events,
        close,
      }
    },
  })
  return { running, summary: async () => await Promise.resolve(summaryOf(parts)) }
}

export const REGISTRY: ServiceModule<RegistryConfig> = {
  name: 'registry',
  about: 'Names with a provable history.',
  portOffset: REGISTRY_PORT_OFFSET,
  schema: registrySection,
  metrics: REGISTRY_METRICS,
  start: startRegistry,
  check: checkParts,
}
