/**
 * Refusals into the chain, and every line to the sink beside the journal.
 *
 *     denied ─▶ [ audit, 512, oldest dropped ] ─▶ a batch ─▶ journal
 *
 * A flood fills the queue, not the drive: what is written is paced, what does not fit is dropped and counted.
 */
import type { AuditFacts } from '@cairn/clients'
import { sleep, type TaskBody, toCairnError } from '@cairn/kernel'
import type { Platform } from '@cairn/platform'
import type { InteropParts } from '../parts.ts'

const BATCH_MAX = 64
/** Between two batches: at most 256 refusals a second are written. */
const PACE_MS = 250
/** Before a batch the drive refused is tried again. */
const RETRY_MS = 1000

export function auditSink(platform: Platform, { audit, ledger }: InteropParts): TaskBody {
  const { clock, log, metrics } = platform
  return async ({ draining, aborting, busyWhen }) => {
    let isWaiting = false
    busyWhen?.(() => !isWaiting)
    for (;;) {
      isWaiting = true
      const next = await audit.denied.recv({ signal: aborting })
      isWaiting = false
      if (next.tag === 'closed') return
      const batch: AuditFacts[] = [next.item]
      while (batch.length < BATCH_MAX) {
        const more = audit.denied.tryReceive()
        if (more?.tag !== 'item') break
        batch.push(more.item)
      }
      for (;;) {
        try {
          // Nothing is written while something is missing: these wait, and the queue behind them drops its oldest.
          if (ledger.lost.value !== undefined)
            await ledger.lost.until((lost) => lost === undefined, { signal: draining })
          await ledger.note(batch)
          metrics.count('audit_emitted_total', { sink: 'journal' }, batch.length)
          break
        } catch (error) {
          log.warn({ error: toCairnError(error).message, lines: batch.length }, 'refusals were not written yet')
          // A drive that refuses does not keep the service from ending: then they are lost, and counted.
          if (toCairnError(error).status < 500 || draining.aborted) {
            metrics.count('audit_drop_total', {}, batch.length)
            break
          }
          await sleep(clock, RETRY_MS, { signal: aborting })
        }
      }
      if (!draining.aborted) await sleep(clock, PACE_MS, { signal: aborting })
    }
  }
}
