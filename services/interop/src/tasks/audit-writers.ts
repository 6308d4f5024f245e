/**
 * Refusals into the chain, and every line to the sink beside the journal.
 *
 *     denied ─▶ [ audit, 512, oldest dropped ] ─▶ a batch ─▶ journal
 *
 * A flood fills the queue, not the drive: what is written is paced, what does not fit is dropped and counted.
 */
import type { AuditFacts } from '@cairn/clients'
import { sleep, type TaskBody, toCairnError } from '@cairn/kernel'
import type { DiskFile, Platform } from '@cairn/platform'
import { seqOf } from '../domain/audit-chain.ts'
import type { InteropParts } from '../parts.ts'

// Copies lines of the audit, once they are durable, to the sink beside the journal: a file, or the log. In amnesia there
// is no file: it would be memory like the journal, and a count of lines that nobody can read.

const FOLLOW_MS = 1000
const LINES_MAX = 500

export function auditFollower(
  platform: Platform,
  parts: InteropParts,
  directory: string,
  isAmnesiac: boolean,
): TaskBody {
  const { sink } = parts.config().audit
  return async ({ draining }) => {
    if (sink === 'memory') return
    if (sink === 'file' && isAmnesiac) {
      platform.log.warn(
        { sink },
        'audit lines go to no file: amnesia writes none; to keep them use interop.audit.sink = "stdout"',
      )
      return
    }
    await using file =
      sink === 'file' ? await platform.disk.open(`${directory}/audit.log`, { mode: 'append' }) : undefined
    let next = await firstMissing(file, parts)
    for (;;) {
      const lines = await parts.ledger.lines(next, LINES_MAX)
      if (lines.length > 0) {
        await write(platform, file, lines)
        platform.metrics.count('audit_emitted_total', { sink }, lines.length)
        next = seqOf(lines.at(-1) ?? '{}') + 1
      }
      if (lines.length < LINES_MAX) await sleep(platform.clock, FOLLOW_MS, { signal: draining })
    }
  }
}

/** A file goes on where it ends; the log says what comes from now on. */
async function firstMissing(file: DiskFile | undefined, { chain }: InteropParts): Promise<number> {
  if (file === undefined) return chain.count + 1
  const size = await file.size()
  const tail = new Uint8Array(Math.min(size, TAIL_BYTES))
  await file.read(size - tail.length, tail)
  const complete = new TextDecoder().decode(tail).split('\n').slice(0, -1)
  const last = complete.at(-1)
  if (last === undefined) return chain.first
  return seqOf(last) + 1
}

/** More than the longest line. */
const TAIL_BYTES = 16 * 1024

async function write({ log }: Platform, file: DiskFile | undefined, lines: readonly string[]): Promise<void> {
  if (file !== undefined) {
    await file.append([new TextEncoder().encode(`${lines.join('\n')}\n`)])
    return
  }
  for (const line of lines) log.info({ audit: line }, 'audit')
}

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
