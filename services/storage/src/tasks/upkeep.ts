/** Rounds of work that keep the drive in order. */
import { CairnError, type Health, sleep, type TaskBody } from '@cairn/kernel'
import type { Platform } from '@cairn/platform'
import type { Storage } from '@cairn/store'

/** Chunks the sweeper looks at in one go. */
const SWEEP_PAGE = 512

/** Removes, round after round, chunks that no object refers to and no upload keeps. */
export function sweeper(platform: Platform, storage: Storage, intervalMs: number): TaskBody {
  return everyRound(platform, intervalMs, async (signal) => {
    let cursor: Uint8Array | undefined
    do {
      const report = await storage.sweeper.sweep(cursor, SWEEP_PAGE)
      if (report.removed > 0) platform.metrics.count('swept_chunks_total', {}, report.removed)
      cursor = report.cursor
    } while (cursor !== undefined && !signal.aborted)
  })
}

/** Rewrites, round after round, segments that are mostly dead. */
export function compactor(platform: Platform, storage: Storage, intervalMs: number): TaskBody {
  return everyRound(platform, intervalMs, async (signal) => {
    for (
      let done = await storage.compactor.compactOne();
      done !== undefined;
      done = await storage.compactor.compactOne()
    ) {
      platform.metrics.count('compacted_bytes_total', {}, done.freedBytes)
      platform.log.info({ ...done }, 'segment compacted')
      if (signal.aborted) return
    }
  })
}

/** How soon a drive that fails, or works again, shows in `/readyz`. */
const WATCH_MS = 200

/** Says whether the drive takes writes. Reads go on whatever it says. */
export function driveWatcher(platform: Platform, storage: Storage, health: Health): TaskBody {
  return async ({ draining }) => {
    for (;;) {
      const { unready, isStalled } = storage.facts()
      if (unready === undefined && !isStalled) health.meet('store_writable')
      else health.miss('store_writable', unready?.message ?? 'The drive does not answer in time.')
      await sleep(platform.clock, WATCH_MS, { signal: draining })
    }
  }
}

/** Does `round`, pauses, and does it again. What the drive does not allow now is left for the next round. */
function everyRound(platform: Platform, intervalMs: number, round: (signal: AbortSignal) => Promise<void>): TaskBody {
  return async ({ draining }) => {
    for (;;) {
      await pause(platform, intervalMs, draining)
      try {
        await round(draining)
      } catch (error) {
        if (!canWait(error)) throw error
        platform.log.warn({ error }, 'a round of upkeep was put off')
      }
    }
  }
}

/** Jittered: services that were started together do not work together for ever. */
export async function pause(platform: Platform, intervalMs: number, signal: AbortSignal): Promise<void> {
  await sleep(platform.clock, intervalMs * (0.75 + platform.random.next() / 2), { signal })
}

function canWait(error: unknown): boolean {
  return error instanceof CairnError && (error.kind === 'StorageBusy' || error.kind === 'Timeout')
}
