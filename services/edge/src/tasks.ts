/** Every task of the edge but those that all services have. */
import { breakerJanitor, type Health, type Supervisor } from '@cairn/kernel'
import type { ServiceHost } from '@cairn/platform'
import type { EdgeConfig } from './config.ts'
import type { EdgeParts } from './parts.ts'
import { casJanitor } from './tasks/cas-janitor.ts'
import { metricsExporter } from './tasks/metrics-exporter.ts'
import { packVerifier } from './tasks/pack-verifier.ts'
import { shedWatcher } from './tasks/shed-watcher.ts'

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
