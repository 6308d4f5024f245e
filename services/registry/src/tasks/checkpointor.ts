/**
 * Asks for a checkpoint with the time of now, at least every minute: readers see that the log is alive. Once in an
 * interval the pruner gets one as an anchor, below which it may remove entries.
 */
import { Deadline, type Queue, sleep, type TaskBody, toCairnError } from '@cairn/kernel'
import type { Platform } from '@cairn/platform'
import type { CheckpointedAnswer } from '../domain/commands.ts'
import type { CrashPointHook } from '../domain/crash-points.ts'
import type { CommandIntake } from '../intake.ts'

/** Entries below it are covered by a checkpoint that is durable and signed. */
export interface Anchor {
  readonly size: number
}

export interface CheckpointorParts {
  readonly intake: CommandIntake
  readonly retention: Queue<Anchor>
  /** Writes down how far the log has come. */
  readonly saveHead: () => Promise<void>
  readonly reach: CrashPointHook
}

/** How long a checkpoint may wait in the queue and for the drive. */
const CHECKPOINT_MS = 30_000

/** Readers take a checkpoint that is minutes old for a log that somebody holds back: a fresh time is signed this often. */
const SIGN_EVERY_MS = 60_000

/** `isReading` says that nothing may be signed: then it only waits. */
export function checkpointor(
  platform: Platform,
  parts: CheckpointorParts,
  intervalMs: number,
  isReading: () => boolean,
): TaskBody {
  const { clock, log, metrics } = platform
  return async ({ draining }) => {
    let anchoredAt = clock.now()
    for (;;) {
      await sleep(clock, Math.min(intervalMs, SIGN_EVERY_MS), { signal: draining })
      if (isReading()) continue
      try {
        const deadline = Deadline.after(clock, CHECKPOINT_MS)
        const { size } = (await parts.intake.ask(
          { tag: 'checkpoint' },
          { deadline, signal: draining },
        )) as CheckpointedAnswer
        await parts.reach('mid-checkpoint')
        await parts.saveHead()
        if (clock.now() - anchoredAt < intervalMs) continue
        anchoredAt = clock.now()
        if (parts.retention.trySend({ size }) === 'sent') continue
        metrics.count('registry_prune_skipped_total', { reason: 'full' })
        log.warn({ size }, 'the pruner is behind; this checkpoint is not offered to it')
      } catch (error) {
        if (draining.aborted) throw error
        log.warn({ error: toCairnError(error).message }, 'no checkpoint this time')
      }
    }
  }
}
