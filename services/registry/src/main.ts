/** The registry, from its parts to its port. */

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
import { breakerJanitor, type Supervisor } from '@cairn/kernel'
import type { Inflate } from '@cairn/platform'
import { toHex } from '@cairn/wire'
import { REGISTRY_PORT_OFFSET, type RegistryConfig, registrySection } from './config.ts'
import { REGISTRY_CODES } from './errors.ts'
import { REGISTRY_METRICS } from './metrics.ts'
import { checkParts, openParts, type RegistryDependencies, type RegistryParts } from './parts.ts'
import { decisionRoutes } from './routes/decisions.ts'
import { adminRoutes, logRoutes } from './routes/log.ts'
import { proofRoutes } from './routes/proofs.ts'
import { proposalRoutes } from './routes/proposals.ts'
import { readRoutes, trustRoute } from './routes/reads.ts'
import { streamRoute } from './routes/stream.ts'
import { checkpointor } from './tasks/checkpointor.ts'
import { healthGate, readyFields } from './tasks/health-gate.ts'

/** Every task of the registry, started. */
function startTasks(
  { platform, config, breakers }: Pick<ServiceHost<RegistryConfig>, 'platform' | 'config' | 'breakers'>,
  parts: RegistryParts,
  supervisor: Supervisor,
): void {
  const { checkpoint_interval: intervalMs } = config.current
  supervisor.start('committer', parts.committer.run)
  supervisor.start('publisher', parts.publisher.run)
  const isReading = (): boolean => parts.custody.problem !== undefined
  supervisor.start('checkpointor', checkpointor(platform, parts, intervalMs, isReading))
  supervisor.start('signed-keeper', parts.keeper.run)
  supervisor.start('pruner', parts.pruner.run)
  supervisor.start('deep-verifier', parts.verifier.run)
  if (parts.nameHolder !== undefined) supervisor.start('name-holder', parts.nameHolder.run)
  if (breakers !== undefined) supervisor.start('breaker-janitor', breakerJanitor(platform, [breakers]))
  supervisor.start(
    'health-gate',
    healthGate(platform, parts, () => 1 + config.snapshot.version),
  )
}

/** Every route of the registry. There is none, and no configuration key, that changes signers or quorum: only the log does. */
export function registryRoutes(parts: RegistryParts): RouteTable {
  return defineRoutes([
    ...proposalRoutes(parts),
    ...decisionRoutes(parts),
    ...readRoutes(parts),
    streamRoute(parts),
    ...proofRoutes(parts),
    trustRoute(parts),
    ...logRoutes(parts),
    ...adminRoutes(parts),
    eventsRoute(parts.runtime.clock, parts.events),
  ])
}

/** One line: the version, who decides, and the key to know the log by. */
export function summaryOf(parts: RegistryParts): string {
  const { published, signer } = parts
  const { head, state } = published.value
  const { m, signers } = state.signerSet
  const key = toHex(signer.logKey.publicKey)
  const quorum = `quorum ${m} of ${signers.length} · log key ${key.slice(0, 4)}…${key.slice(-2)}`
  return [`version ${head.version}`, quorum, ...ownSigner(parts), ...reading(parts)].join(' · ')
}

/** Who signs, where this start made that up itself. */
function ownSigner({ ownSignerFile, isForgetful }: RegistryParts): string[] {
  if (ownSignerFile === undefined) return []
  if (!isForgetful) return [`made its own signer: ${ownSignerFile}`]
  return [
    'its signer is in memory and cannot sign: make keys with `cairn key new` and name a file of their signer set in registry.bootstrap.trust_roots_path',
  ]
}

function reading({ custody }: RegistryParts): string[] {
  return custody.problem === undefined ? [] : ['reads only']
}

/** A node gives what every service needs, and its storage; the simulator also its own listener and decoder. */
export interface RegistryHost extends ServiceHost<RegistryConfig>, RegistryDependencies {
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
