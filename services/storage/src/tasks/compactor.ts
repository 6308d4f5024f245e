import type { TaskBody } from '@cairn/kernel'
import type { Platform } from '@cairn/platform'
import type { Storage } from '@cairn/store'
import { everyRound } from './round.ts'

/** Rewrites, round after round, segments that are mostly dead. */
export function compactor(platform: Platform, storage: Storage, intervalMs: number): TaskBody {
  return everyRound(platform, intervalMs, async (signal) => {
    while (!signal.aborted) {
      const done = await storage.compactor.compactOne()
      if (done === undefined) return
      platform.metrics.count('compacted_bytes_total', {}, done.freedBytes)
      platform.log.info({ ...done }, 'segment compacted')
    }
  })
}
