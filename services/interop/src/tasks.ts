/** Every task of interop but those that all services have. */

import type { ServiceHost } from '@cairn/http'
import { breakerJanitor, type Health, type Supervisor, sleep, type TaskBody, toCairnError } from '@cairn/kernel'
import { MaintenanceLock, type Platform } from '@cairn/platform'
import type { InteropConfig } from './config.ts'
import type { InteropParts } from './parts.ts'
import { auditAnchor } from './tasks/audit-anchor.ts'
import { auditFollower, auditSink } from './tasks/audit-writers.ts'
import { brownoutSentinel } from './tasks/brownout-sentinel.ts'
import { forwarder, proposer } from './tasks/dispatcher.ts'

const ROUND_MS = 10_000
/** Forgets what may be forgotten: replay keys whose time is over, and segments nothing living is in. */
function journalKeeper(
  { clock, log }: Platform,
  { ledger, config }: InteropParts,
  maintenanceLock: MaintenanceLock,
): TaskBody {
  return async ({ draining }) => {
    for (;;) {
      await sleep(clock, ROUND_MS, { signal: draining })
      if (ledger.lost.value !== undefined) continue
      try {
        const settle = async (): Promise<void> => {
          await ledger.settleKeys()
          await ledger.trim(config().journal.keep_bytes)
        }
        await maintenanceLock.work(settle, { signal: draining })
      } catch (error) {
        if (draining.aborted) throw error
        log.warn({ error: toCairnError(error).message }, 'the journal was not trimmed; the next round tries again')
      }
    }
  }
}

const FORWARDERS = 4

export function startTasks(
  host: Pick<ServiceHost<InteropConfig>, 'platform' | 'config' | 'directory' | 'maintenanceLock' | 'breakers'>,
  parts: InteropParts,
  supervisor: Supervisor,
  health: Health,
): void {
  const { platform, config, directory, breakers, maintenanceLock = new MaintenanceLock() } = host
  const { workers, audit } = config.current
  supervisor.start('worker', parts.work.worker, workers)
  supervisor.start('audit-sink', auditSink(platform, parts))
  supervisor.start('audit-follower', auditFollower(platform, parts, directory))
  supervisor.start('audit-anchor', auditAnchor(platform, parts, audit.anchor_interval))
  supervisor.start('brownout-sentinel', brownoutSentinel(platform, parts, health))
  supervisor.start('journal-keeper', journalKeeper(platform, parts, maintenanceLock))
  if (breakers !== undefined) supervisor.start('breaker-janitor', breakerJanitor(platform, [breakers]))
  supervisor.start('proposer', proposer(platform, parts))
  supervisor.start('forwarder', forwarder(platform, parts), FORWARDERS)
  if (parts.reconciler !== undefined) supervisor.start('reconciler', parts.reconciler)
}
