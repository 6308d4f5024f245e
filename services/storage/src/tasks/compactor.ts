import type { TaskBody } from '@cairn/kernel'
import type { Platform, Upkeep } from '@cairn/platform'
import type { Drives } from '../targets/drives.ts'
import { everyRound } from './round.ts'

/** Rewrites, round after round and drive after drive, segments that are mostly dead. */
export function compactor(platform: Platform, drives: Drives, upkeep: Upkeep, intervalMs: number): TaskBody {
  return everyRound(platform, intervalMs, async (signal) => {
    for (const drive of drives.open) {
      while (!signal.aborted) {
        const { storage } = drive.contents
        const done = await upkeep.work(async () => await storage.compactor.compactOne(), { signal })
        if (done === undefined) break
        platform.metrics.count('compacted_bytes_total', {}, done.freedBytes)
        platform.log.info({ ...done }, 'segment compacted')
      }
    }
  })
}
