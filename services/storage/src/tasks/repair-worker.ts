import { isKind, type TaskBody, TokenBucket } from '@cairn/kernel'
import type { Platform } from '@cairn/platform'
import { REPAIR_COST_BYTES, type Repair } from '../domain/repairs.ts'
import type { StorageParts } from '../parts.ts'
import { canWait } from './round.ts'

type Repairing = Pick<StorageParts, 'storage' | 'repairs' | 'events'>

/**
 * Makes the repairs in the queue, all workers together within one budget. With one target there is no copy to repair
 * from: the chunk is proved again, and one that is still damaged waits to be put again.
 */
export function repairWorker(platform: Platform, parts: Repairing, bytesPerSecond: number): TaskBody {
  const burst = Math.max(bytesPerSecond, REPAIR_COST_BYTES)
  const budget = new TokenBucket(platform.clock, { rate: bytesPerSecond, burst })
  const { clock, metrics } = platform
  return async ({ aborting }) => {
    for (;;) {
      const next = await parts.repairs.queue.recv({ signal: aborting })
      if (next.tag === 'closed') return
      const askedAt = clock.now()
      await budget.take(REPAIR_COST_BYTES, { signal: aborting })
      const beganAt = clock.now()
      metrics.observe('repair_wait_seconds', (beganAt - askedAt) / 1000)
      await repairOne(platform, parts, next.item)
      metrics.count('repair_seconds_total', { phase: 'executed' }, (clock.now() - beganAt) / 1000)
    }
  }
}

async function repairOne({ metrics, log }: Platform, parts: Repairing, { chunk }: Repair): Promise<void> {
  try {
    if ((await parts.storage.chunks.inspect(chunk)) === 'sound') {
      metrics.count('repair_bytes_total', { phase: 'executed' }, REPAIR_COST_BYTES)
      parts.events.publish({ topic: 'storage.repair.executed', body: { chunk, bytes: REPAIR_COST_BYTES } })
      return
    }
    metrics.count('repair_skipped_total', { reason: 'no_copy' })
  } catch (error) {
    const isDamaged = isKind(error, 'Integrity')
    if (!isDamaged && !isKind(error, 'Internal') && !canWait(error)) throw error
    log.warn({ chunk: chunk.slice(0, 11), error }, 'a chunk could not be repaired')
    metrics.count('repair_skipped_total', { reason: isDamaged ? 'no_copy' : 'drive' })
  }
}
