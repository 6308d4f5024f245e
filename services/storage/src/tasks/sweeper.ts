import type { TaskBody } from '@cairn/kernel'
import type { Platform } from '@cairn/platform'
import type { Storage } from '@cairn/store'
import { everyRound } from './round.ts'

/** Chunks looked at in one go. */
const PAGE = 512

/** Removes, round after round, chunks that no object refers to and no upload keeps. */
export function sweeper(platform: Platform, storage: Storage, intervalMs: number): TaskBody {
  return everyRound(platform, intervalMs, async (signal) => {
    let cursor: Uint8Array | undefined
    do {
      const report = await storage.sweeper.sweep(cursor, PAGE, signal)
      if (report.removed > 0) platform.metrics.count('swept_chunks_total', {}, report.removed)
      cursor = report.cursor
    } while (cursor !== undefined && !signal.aborted)
  })
}
