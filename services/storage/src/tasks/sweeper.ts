import type { TaskBody } from '@cairn/kernel'
import type { Platform, Upkeep } from '@cairn/platform'
import type { Drives } from '../targets/drives.ts'
import { everyRound } from './round.ts'

/** Chunks looked at in one go. */
const PAGE = 512

/** Removes, round after round and drive after drive, chunks that no object refers to and no upload keeps. */
export function sweeper(platform: Platform, drives: Drives, upkeep: Upkeep, intervalMs: number): TaskBody {
  return everyRound(platform, intervalMs, async (signal) => {
    for (const drive of drives.open) {
      let cursor: Uint8Array | undefined
      do {
        const { storage } = drive.contents
        const from = cursor
        const report = await upkeep.work(async () => await storage.sweeper.sweep(from, PAGE, signal), { signal })
        if (report.removed > 0) platform.metrics.count('swept_chunks_total', {}, report.removed)
        cursor = report.cursor
      } while (cursor !== undefined && !signal.aborted)
    }
  })
}
