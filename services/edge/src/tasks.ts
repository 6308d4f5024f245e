/** Every task of the edge but those that all services have. */
import type { Health, Supervisor } from '@cairn/kernel'
import type { ServiceHost } from '@cairn/platform'
import type { EdgeConfig } from './config.ts'
import type { EdgeParts } from './parts.ts'
import { casJanitor } from './tasks/cas-janitor.ts'
import { metricsExporter } from './tasks/metrics-exporter.ts'
import { packVerifier } from './tasks/pack-verifier.ts'
import { shedWatcher } from './tasks/shed-watcher.ts'

export function startTasks(
  { platform, config }: Pick<ServiceHost<EdgeConfig>, 'platform' | 'config'>,
  parts: EdgeParts,
  supervisor: Supervisor,
  health: Health,
): void {
  supervisor.start('fill-worker', parts.fills.worker, config.current.workers)
  supervisor.start('pack-verifier', packVerifier(platform, config, parts, health))
  supervisor.start('metrics-exporter', metricsExporter(platform, parts.cas))
  supervisor.start('cas-janitor', casJanitor(platform, parts.cas, health))
  const { providers } = parts
  if (providers !== undefined)
    supervisor.start('breaker-janitor', async ({ draining }) => await providers.janitor(draining))
  supervisor.start('shed-watcher', shedWatcher(platform, parts.fills, health))
}
