/** Every task of interop but those that all services have. */
import { breakerJanitor, type Health, type Supervisor } from '@cairn/kernel'
import { type ServiceHost, Upkeep } from '@cairn/platform'
import type { InteropConfig } from './config.ts'
import type { InteropParts } from './parts.ts'
import { auditAnchor } from './tasks/audit-anchor.ts'
import { auditFollower } from './tasks/audit-follower.ts'
import { auditSink } from './tasks/audit-sink.ts'
import { brownoutSentinel } from './tasks/brownout-sentinel.ts'
import { forwarder, proposer } from './tasks/dispatcher.ts'
import { journalKeeper } from './tasks/journal-keeper.ts'

const FORWARDERS = 4

export function startTasks(
  host: Pick<ServiceHost<InteropConfig>, 'platform' | 'config' | 'directory' | 'upkeep' | 'breakers'>,
  parts: InteropParts,
  supervisor: Supervisor,
  health: Health,
): void {
  const { platform, config, directory, breakers, upkeep = new Upkeep() } = host
  const { workers, audit } = config.current
  supervisor.start('worker', parts.work.worker, workers)
  supervisor.start('audit-sink', auditSink(platform, parts))
  supervisor.start('audit-follower', auditFollower(platform, parts, directory))
  supervisor.start('audit-anchor', auditAnchor(platform, parts, audit.anchor_interval))
  supervisor.start('brownout-sentinel', brownoutSentinel(platform, parts, health))
  supervisor.start('journal-keeper', journalKeeper(platform, parts, upkeep))
  if (breakers !== undefined) supervisor.start('breaker-janitor', breakerJanitor(platform, [breakers]))
  supervisor.start('proposer', proposer(platform, parts))
  supervisor.start('forwarder', forwarder(platform, parts), FORWARDERS)
  if (parts.reconciler !== undefined) supervisor.start('reconciler', parts.reconciler)
}
