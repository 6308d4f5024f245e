import type { ReadyFields } from '@cairn/http'
import { sleep, type TaskBody } from '@cairn/kernel'
import type { Platform } from '@cairn/platform'
import type { RegistryParts } from '../parts.ts'

/** How soon a change shows in the gauges; `/readyz` says what is so at that moment. */
const WATCH_MS = 500

/** Why writes are refused now; nothing if they are taken. Reads go on either way. */
export function writeProblem({ log, custody }: Pick<RegistryParts, 'log' | 'custody'>): string | undefined {
  if (custody.problem !== undefined) return custody.problem
  const { unready, isStalled } = log.facts()
  if (unready !== undefined) return unready.message
  return isStalled ? 'The drive does not answer in time.' : undefined
}

/**
 * What `/readyz` says beside the conditions: writes may be down while reads are served, which is 200 unless
 * `?class=write` asks about them.
 */
export function readyFields(parts: RegistryParts, query: string): ReadyFields {
  const why = writeProblem(parts)
  const { version, hash } = parts.published.value.head
  const write = why === undefined ? { write_ready: true } : { write_ready: false, degraded: true, write_problem: why }
  const isAsked = new URLSearchParams(query).get('class') === 'write'
  const refused = why !== undefined && isAsked ? { ready: false, missing: ['log_writable'] } : {}
  return { ...refused, ...write, ...damage(parts), ...content(parts), version, head_b3: hash }
}

/** What is wrong with the log itself, as the deep verifier or the start found it: an operator must hear of it. */
function damage({ verifier }: RegistryParts): Readonly<Record<string, unknown>> {
  const { bad } = verifier.report()
  return bad === null ? {} : { degraded: true, log_problem: `Entry ${bad.index}: ${bad.why}` }
}

/** Names whose content is not here are a concern, not a reason to send nobody. */
function content({ nameHolder }: RegistryParts): Readonly<Record<string, unknown>> {
  const problem = nameHolder?.problem
  return problem === undefined ? {} : { degraded: true, names_available: false, names_problem: problem }
}

/** Keeps the gauges up to date. */
export function healthGate(platform: Platform, parts: RegistryParts, configVersion: () => number): TaskBody {
  return async ({ draining }) => {
    for (;;) {
      setGauges(platform, parts)
      platform.metrics.set('registry_config_version', configVersion())
      await sleep(platform.clock, WATCH_MS, { signal: draining })
    }
  }
}

function setGauges({ metrics, clock }: Platform, { published, ledger, log }: RegistryParts): void {
  const { head, size, timedAt, minimumIndex, state } = published.value
  const { segments, bytes } = log.facts()
  metrics.set('registry_head_version', head.version)
  metrics.set('registry_log_entries', size)
  metrics.set('registry_log_segments', segments)
  metrics.set('registry_storage_bytes', bytes)
  metrics.set('registry_minimum_index', minimumIndex)
  metrics.set('registry_checkpoint_age_seconds', Math.max(0, clock.wall() - timedAt) / 1000)
  metrics.set('registry_pending_proposals', ledger.openCount())
  const signers = new Map<string, number>()
  for (const { id } of state.signerSet.signers) {
    const org = id.split('#')[0] ?? id
    signers.set(org, (signers.get(org) ?? 0) + 1)
  }
  for (const [org, count] of signers) metrics.set('registry_signers', count, { org })
}
