import type { ReadyFields } from '@cairn/http'
import { type Health, sleep, type TaskBody } from '@cairn/kernel'
import type { Platform } from '@cairn/platform'
import type { InteropParts } from '../parts.ts'

const LOOK_MS = 1000

/** Judges every second, tells whoever listens, and brings the gauges up to date. */
export function brownoutSentinel(platform: Platform, parts: InteropParts, health: Health): TaskBody {
  const { clock, metrics, log } = platform
  return async ({ draining }) => {
    metrics.set('brownout_active', 0, { component: 'bridge' })
    for (;;) {
      const before = parts.pressure.state.value
      const state = parts.pressure.judge(parts.work.ratio)
      if (state.tag !== before.tag) {
        const active = state.tag === 'brown'
        const reasons = state.tag === 'brown' ? state.causes : []
        metrics.set('brownout_active', active ? 1 : 0, { component: 'bridge' })
        parts.events.publish({ topic: 'interop.brownout', body: { active, reasons } })
        log.warn({ active, reasons }, 'brownout')
      }
      setGauges(platform, parts)
      if (parts.ledger.problem === undefined) health.meet('journal_writable')
      else health.miss('journal_writable', parts.ledger.problem)
      const lost = parts.ledger.lost.value
      if (lost === undefined) health.meet('journal_whole')
      else health.miss('journal_whole', lost.detail)
      await sleep(clock, LOOK_MS, { signal: draining })
    }
  }
}

function setGauges({ metrics }: Platform, { ledger, mailbox, chain }: InteropParts): void {
  const { live, dead } = mailbox.facts()
  metrics.set('mailbox_messages', live, { state: 'live' })
  metrics.set('mailbox_messages', dead, { state: 'dead' })
  metrics.set('replay_keys', ledger.keyCount)
  metrics.set('journal_bytes', ledger.bytes)
  metrics.set('audit_lines', chain.count)
  metrics.set('audit_anchored_lines', chain.anchored.count)
}

/**
 * What `/readyz` says beside the conditions. `?class=bridge` asks about webhooks, puts and forwards, `?class=read` about
 * reads, which a brownout leaves alone.
 */
export function readyFields(parts: InteropParts, query: string): ReadyFields {
  const state = parts.pressure.state.value
  const problem = parts.ledger.problem
  const lost = parts.ledger.lost.value
  const missing = [
    ...(lost === undefined ? [] : ['journal_whole']),
    ...(problem === undefined ? [] : ['journal_writable']),
    ...(state.tag === 'brown' ? ['brownout_bridge'] : []),
  ]
  const reasons = {
    ...(state.tag === 'brown' ? { brownout: state.causes } : {}),
    ...(lost === undefined ? {} : { journal_problem: `${lost.detail} Give it up with: cairn interop adopt` }),
  }
  if (new URLSearchParams(query).get('class') === 'read') return { ready: true, missing: [], ...reasons }
  return missing.length === 0 ? {} : { ready: false, degraded: true, missing, ...reasons }
}
