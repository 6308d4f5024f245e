/** Work that is done again and again, with a pause in between. */
import { CairnError, type ErrorKind, sleep, type TaskBody, toCairnError } from '@cairn/kernel'
import type { Platform } from '@cairn/platform'

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
export function everyRound(
  platform: Platform,
  intervalMs: number,
  round: (signal: AbortSignal) => Promise<void>,
): TaskBody {
  return async ({ draining }) => {
    for (;;) {
      await sleep(platform.clock, jittered(platform, intervalMs), { signal: draining })
      try {
        await round(draining)
      } catch (error) {
        if (!canWait(error)) throw error
        platform.log.warn({ error }, 'a round of upkeep was put off')
      }
    }
  }
}

/** Services that were started together do not work together for ever. */
export function jittered({ random }: Platform, intervalMs: number): number {
  return intervalMs * (0.75 + random.next() / 2)
}
