/** The index, from its parts to its port. */

import {
  defineRoutes,
  eventsRoute,
  type Listen,
  queueLane,
  type RouteTable,
  runService,
  type ServiceHost,
  type ServiceModule,
  type StartedService,
  serveWorkLane,
} from '@cairn/http'
import {
  type Breakers,
  type Health,
  type Runtime,
  Scope,
  type Supervisor,
  sleep,
  type TaskBody,
  throwIfCanceled,
  toCairnError,
} from '@cairn/kernel'
import type { Inflate } from '@cairn/platform'
import { KadRouting, type ProviderRouting } from '@cairn/routing'
import { spellCount } from '@cairn/wire'
import { INDEX_PORT_OFFSET, type IndexConfig, indexSection } from './config.ts'
import { INDEX_CODES } from './errors.ts'
import { INDEX_METRICS } from './metrics.ts'
import { checkParts, type IndexDependencies, type IndexParts, openParts } from './parts.ts'
import { adminRoutes } from './routes/admin.ts'
import { announceRoute } from './routes/announce.ts'
import { delegatedRoute } from './routes/delegated.ts'
import { facetRoutes } from './routes/facets.ts'
import { providerRoutes } from './routes/providers.ts'
import { resolveRoute } from './routes/resolve.ts'
import { prefetcher } from './tasks/prefetcher.ts'

// Brings this node into the DHT, and says in `/readyz` whether it is there; reads are served without it meanwhile.

/** Before it is tried again. */
const PAUSE_MS = 5_000

export function dhtJoiner({ clock, log }: Runtime, routings: readonly ProviderRouting[], health: Health): TaskBody {
  return async ({ draining: signal }) => {
    for (const routing of routings) {
      if (!(routing instanceof KadRouting)) continue
      for (let isIn = false; !isIn; ) {
        try {
          log.info({ addresses: await routing.start({ signal }) }, 'in the DHT')
          isIn = true
        } catch (error) {
          throwIfCanceled(signal)
          const { message } = toCairnError(error)
          health.miss('dht_client_ready', message)
          log.warn({ error: message }, 'not in the DHT yet')
          await sleep(clock, PAUSE_MS, { signal })
        }
      }
    }
    health.meet('dht_client_ready')
  }
}

/** Every task of the index but those that all services have. */

/** How often the gauges of the pools are brought up to date. */
const GAUGES_MS = 1000
/** How often records that have expired give their memory back. */
const RECORDS_MS = 60_000

export function startTasks(
  { platform: runtime, breakers }: Pick<ServiceHost<IndexConfig>, 'platform' | 'breakers'>,
  parts: IndexParts,
  supervisor: Supervisor,
  health: Health,
): void {
  const { workers, amnesia, facets } = parts.config()
  supervisor.start('resolver-worker', parts.intake.worker, workers)
  supervisor.start('cache-janitor', parts.cache.janitor(parts.amnesia ? amnesia.purge_interval : undefined))
  supervisor.start('breaker-janitor', breakerJanitor(runtime, parts, breakers))
  if (parts.names !== undefined) supervisor.start('registry-follower', parts.names.run)
  supervisor.start('prefetcher', prefetcher(runtime, parts))
  supervisor.start('dht-joiner', dhtJoiner(runtime, parts.routings, health))
  supervisor.start('announcer', parts.announcer.run)
  if (facets.search || facets.graph)
    supervisor.start('facet-worker', async (context) => await serveWorkLane(parts.facets, context), facets.workers)
  runtime.metrics.set('amnesia_mode', Number(parts.amnesia), { status: 'on' })
  runtime.metrics.set('amnesia_mode', Number(!parts.amnesia), { status: 'off' })
}

/** Rolls the windows of the breakers, lets expired records go, and shows how busy the pools are. */
function breakerJanitor(runtime: Runtime, parts: IndexParts, neighbours: Breakers | undefined): TaskBody {
  return async ({ draining }) => {
    await using scope = new Scope(runtime, 'breaker-janitor', { signals: [draining] })
    scope.spawn('breakers', async (signal) => await parts.breakers.janitor(signal))
    if (neighbours !== undefined) scope.spawn('neighbours', async (signal) => await neighbours.janitor(signal))
    scope.spawn('gauges', async (signal) => {
      for (;;) {
        setGauges(runtime, parts)
        await sleep(runtime.clock, GAUGES_MS, { signal })
      }
    })
    scope.spawn('records', async (signal) => {
      for (;;) {
        await sleep(runtime.clock, RECORDS_MS, { signal })
        parts.records.sweep()
      }
    })
    await scope.join()
  }
}

function setGauges({ metrics }: Runtime, { intake, announcer, overrides }: IndexParts): void {
  const { waiting, working } = intake.facts()
  metrics.set('admission_inflight', waiting, { stage: 'waiting' })
  metrics.set('admission_inflight', working, { stage: 'working' })
  metrics.set('index_announced_objects', announcer.size)
  metrics.set('index_pins', overrides.pins.size)
}

/** Every route of the index. */

export function indexRoutes(parts: IndexParts): RouteTable {
  return defineRoutes([
    resolveRoute(parts),
    ...providerRoutes(parts),
    delegatedRoute(parts),
    announceRoute(parts),
    ...adminRoutes(parts),
    ...facetRoutes(parts),
    eventsRoute(parts.runtime.clock, parts.events),
  ])
}

/** One line: where names come from, whom it asks, and as whom it signs. */
export function summaryOf({ names, routings, overrides, publisher }: IndexParts): string {
  const source = names === undefined ? spellCount(overrides.names.size, 'local name') : 'names from the registry'
  const ways = routings.length === 0 ? 'asks no other node' : `asks ${routings.map(({ name }) => name).join(', ')}`
  const signer = `${publisher.slice(0, 8)}…${publisher.slice(-4)}`
  return `${source} · ${ways} · ${spellCount(overrides.pins.size, 'pin')} · signs as ${signer}`
}

/** What `/readyz` says beside the conditions: reads go on while the registry is away, and it says so. */
export function readyFields({ names, routings }: IndexParts): Readonly<Record<string, unknown>> {
  const registry = names === undefined ? {} : { registry: names.readyFields() }
  return { ...registry, routings: routings.map(({ name }) => name) }
}

/** A node gives what every service needs, its identity and its neighbours; the simulator also its own listener and decoder. */
export interface IndexHost extends ServiceHost<IndexConfig>, IndexDependencies {
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
