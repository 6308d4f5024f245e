/** Every task of the edge but those that all services have. */

import type { ServiceHost } from '@cairn/http'
import {
  breakerJanitor,
  Cancel,
  type Config,
  type Health,
  isKind,
  type Runtime,
  type Supervisor,
  sleep,
  type TaskBody,
  throwIfCanceled,
} from '@cairn/kernel'
import type { Cas } from './cas/cas.ts'
import type { EdgeConfig } from './config.ts'
import type { Fills } from './fill/fills.ts'
import type { EdgeParts } from './parts.ts'

type PackVerifierParts = Pick<EdgeParts, 'packTable' | 'addedPacks'>

/** Mounts the packs of every configuration that comes into force, the first included, and those that were added. */
function packVerifier(
  { log }: Runtime,
  { snapshot }: Config<EdgeConfig>,
  { packTable, addedPacks }: PackVerifierParts,
  health: Health,
): TaskBody {
  return async ({ draining }) => {
    packTable.follow(() => updatePackHealth(snapshot.value.values, packTable, health))
    for (;;) {
      const { value, version } = { value: snapshot.value, version: snapshot.version }
      const { packs } = value.values
      await packTable.mount(() => [...packs, ...addedPacks.beside(packs)], draining)
      const failed = packTable.failures().length
      if (packTable.count > 0) log.info({ packs: packTable.count, failed }, 'packs verified')
      await waitForConfig(snapshot, version, packTable, draining)
    }
  }
}

/** Resolves with the next configuration; opens packs again meanwhile whose files were replaced. */
async function waitForConfig(
  snapshot: Config<EdgeConfig>['snapshot'],
  version: number,
  packTable: PackVerifierParts['packTable'],
  draining: AbortSignal,
): Promise<void> {
  for (;;) {
    using waiting = new Cancel({ signals: [draining] })
    packTable.followReplaced(() => waiting.abort())
    try {
      await snapshot.changed(version, { signal: waiting.signal })
      return
    } catch (error) {
      throwIfCanceled(draining)
      if (!waiting.signal.aborted) throw error
    }
    await packTable.reopen(draining)
  }
}

/**
 * Ready is about the packs of the configuration. One that was added and is gone since must not keep a node from
 * starting: it could then not be removed.
 */
function updatePackHealth({ packs }: EdgeConfig, packTable: PackVerifierParts['packTable'], health: Health): void {
  const states = packs.map(({ name }) => ({ name, state: packTable.state(name) }))
  if (states.some(({ state }) => state === undefined)) return
  const failures = states.flatMap(({ name, state }) => (state?.tag === 'failed' ? [`${name}: ${state.why}`] : []))
  if (failures.length === 0) health.meet('packs_verified')
  else health.miss('packs_verified', failures.join(' '))
}

const SHED_POLL_MS = 100
/** Without a refusal for this long, and with the line half empty, the service has recovered. */
const SHED_CALM_MS = 300

/** Says in `/readyz` that requests are refused, so that load goes elsewhere while they are. */
function shedWatcher({ clock }: Runtime, fills: Fills, health: Health): TaskBody {
  const { sheds, queue } = fills
  return async ({ draining }) => {
    health.meet('shedder_stable')
    for (let seen = sheds.version; ; ) {
      ;({ version: seen } = await sheds.changed(seen, { signal: draining }))
      health.miss(
        'shedder_stable',
        'Requests are refused because too many are under way; what is stored is still served.',
      )
      let calmSince = clock.now()
      while (clock.now() - calmSince < SHED_CALM_MS) {
        await sleep(clock, SHED_POLL_MS, { signal: draining })
        const isShedding = sheds.version !== seen
        seen = sheds.version
        if (isShedding || fills.waiting > queue.capacity / 2) calmSince = clock.now()
      }
      health.meet('shedder_stable')
    }
  }
}

const METRICS_INTERVAL_MS = 1_000

/** Gauges that nobody else brings up to date. */
function metricsExporter({ clock, metrics }: Runtime, cas: Cas): TaskBody {
  return async ({ draining }) => {
    for (;;) {
      const { bytes, entries } = cas.facts()
      metrics.set('edge_cas_bytes', bytes)
      metrics.set('edge_cas_entries', entries)
      await sleep(clock, METRICS_INTERVAL_MS, { signal: draining })
    }
  }
}

const TIDY_INTERVAL_MS = 1_000

/** Keeps the cache in order, and says in `/readyz` whether it takes anything in. */
function casJanitor({ clock, log }: Runtime, cas: Cas, health: Health): TaskBody {
  return async ({ draining }) => {
    for (;;) {
      try {
        await cas.tidy()
      } catch (error) {
        // A drive that refuses is no reason to end: it is asked again, and until then nothing is kept.
        if (isKind(error, 'Internal')) throw error
        log.warn({ error }, 'the cache could not be tidied')
      }
      if (cas.facts().isWritable) health.meet('cas_reachable')
      else health.miss('cas_reachable', 'The disk of the cache takes no writes; what is there is still served.')
      await sleep(clock, TIDY_INTERVAL_MS, { signal: draining })
    }
  }
}

export function startTasks(
  { platform, config, breakers }: Pick<ServiceHost<EdgeConfig>, 'platform' | 'config' | 'breakers'>,
  parts: EdgeParts,
  supervisor: Supervisor,
  health: Health,
): void {
  supervisor.start('fill-worker', parts.fills.worker, config.current.workers)
  supervisor.start('pack-verifier', packVerifier(platform, config, parts, health))
  supervisor.start('metrics-exporter', metricsExporter(platform, parts.cas))
  supervisor.start('cas-janitor', casJanitor(platform, parts.cas, health))
  const tables = [breakers, parts.providers?.breakers].filter((table) => table !== undefined)
  if (tables.length > 0) supervisor.start('breaker-janitor', breakerJanitor(platform, tables))
  supervisor.start('shed-watcher', shedWatcher(platform, parts.fills, health))
}
