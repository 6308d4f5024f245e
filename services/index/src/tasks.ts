/** Every task of the index but those that all services have. */
import { type Breakers, type Health, type Runtime, Scope, type Supervisor, sleep, type TaskBody } from '@cairn/kernel'
import { type ServiceHost, serveWorkLane } from '@cairn/platform'
import type { IndexConfig } from './config.ts'
import type { IndexParts } from './parts.ts'
import { dhtJoiner } from './tasks/dht-joiner.ts'
import { prefetcher } from './tasks/prefetcher.ts'

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

function setGauges({ metrics }: Runtime, { intake, announcer, book }: IndexParts): void {
  const { waiting, working } = intake.facts()
  metrics.set('admission_inflight', waiting, { stage: 'waiting' })
  metrics.set('admission_inflight', working, { stage: 'working' })
  metrics.set('index_announced_objects', announcer.size)
  metrics.set('index_pins', book.pins.size)
}
