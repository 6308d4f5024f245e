import type { TaskBody } from '@cairn/kernel'
import type { Platform, Upkeep } from '@cairn/platform'
import type { Drives } from '../targets/drives.ts'
import { everyRound } from './round.ts'

/** Objects read, or chunks looked at, in one go. */
const PAGE = 512

/** Removes, round after round and drive after drive, chunks that no object refers to and no upload keeps. */
export function sweeper(platform: Platform, drives: Drives, upkeep: Upkeep, intervalMs: number): TaskBody {
  return everyRound(platform, intervalMs, async (signal) => {
    for (const drive of drives.open) {
      let isOver = false
      while (!isOver && !signal.aborted) {
        const { storage } = drive.contents
        const report = await upkeep.work(async () => await storage.sweeper.sweep(PAGE, signal), { signal })
        if (report.removed > 0) platform.metrics.count('swept_chunks_total', {}, report.removed)
        isOver = report.isOver
      }
    }
    const isHeldBack = drives.open.some((drive) => drive.contents.storage.sweeper.facts().blockedBy !== undefined)
    platform.metrics.set('garbage_held_back', isHeldBack ? 1 : 0)
  })
}
