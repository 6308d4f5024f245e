/** Work that is done again and again, with a pause in between. */
import { CairnError, type ErrorKind, sleep, type TaskBody, toCairnError } from '@cairn/kernel'
import type { MaintenanceLock, Platform } from '@cairn/platform'
import type { Drives } from '../targets/drives.ts'

/** Objects read, or chunks looked at, in one go. */
const PAGE = 512

/** Removes, round after round and drive after drive, chunks that no object refers to and no upload keeps. */
export function sweeper(
  platform: Platform,
  drives: Drives,
  maintenanceLock: MaintenanceLock,
  intervalMs: number,
): TaskBody {
  return everyRound(platform, intervalMs, async (signal) => {
    for (const drive of drives.open) {
      let isOver = false
      while (!isOver && !signal.aborted) {
        const { storage } = drive.contents
        const report = await maintenanceLock.work(async () => await storage.sweeper.sweep(PAGE, signal), { signal })
        if (report.removed > 0) platform.metrics.count('swept_chunks_total', {}, report.removed)
        isOver = report.isOver
      }
    }
    const isHeldBack = drives.open.some((drive) => drive.contents.storage.sweeper.facts().blockedBy !== undefined)
    platform.metrics.set('garbage_held_back', isHeldBack ? 1 : 0)
  })
}

/** Rewrites, round after round and drive after drive, segments that are mostly dead. */
export function compactor(
  platform: Platform,
  drives: Drives,
  maintenanceLock: MaintenanceLock,
  intervalMs: number,
): TaskBody {
  return everyRound(platform, intervalMs, async (signal) => {
    for (const drive of drives.open) {
      while (!signal.aborted) {
        const { storage } = drive.contents
        const done = await maintenanceLock.work(async () => await storage.compactor.compactOne(), { signal })
        if (done === undefined) break
        platform.metrics.count('compacted_bytes_total', {}, done.freedBytes)
        platform.log.info({ ...done }, 'segment compacted')
      }
    }
  })
}

/** What the drive does not allow now and may allow later. */
const CAN_WAIT: readonly ErrorKind[] = ['StorageBusy', 'Timeout', 'Busy']

export function canWait(error: unknown): boolean {
  return CAN_WAIT.includes(toCairnError(error).kind)
}

/**
 * Whether what went wrong with one piece of work is told and left for the next time: whatever drives and other nodes may do
 * to it, but not a defect, and not that the task is to end. A node that is away must not take this one with it.
 */
export function canBeLeft(error: unknown, signal: AbortSignal): boolean {
  return error instanceof CairnError && !signal.aborted
}

/** Pauses, does `round`, and begins again. A round that fails for want of the drive is left for the next. */
function everyRound(platform: Platform, intervalMs: number, round: (signal: AbortSignal) => Promise<void>): TaskBody {
  return async ({ draining }) => {
    for (;;) {
      await sleep(platform.clock, jittered(platform, intervalMs), { signal: draining })
      try {
        await round(draining)
      } catch (error) {
        if (!canWait(error)) throw error
        platform.log.warn({ error }, 'a round of maintenance was put off')
      }
    }
  }
}

/** Services that were started together do not work together for ever. */
export function jittered({ random }: Platform, intervalMs: number): number {
  return intervalMs * (0.75 + random.next() / 2)
}
