/**
 * What becomes of a task that ended.
 *
 *     running ──returned or canceled──▶ ended
 *        ▲  └────threw─────▶ waiting ──pause over──▶ running
 *        └───────────────────────┘│
 *                                 └──drain──▶ ended
 *                threw more than 5 times in 60 s ──▶ fatal
 */
import { restartBackoff } from '../policy/backoff.ts'
import type { Random } from '../random.ts'

export type Exit = 'finished' | 'canceled' | 'failed'

export type Decision =
  | { readonly tag: 'restart'; readonly afterMs: number }
  | { readonly tag: 'end' }
  | { readonly tag: 'fatal' }

/** More failures than this within the window and restarting is only flapping. */
const RESTARTS_MAX = 5
const RESTART_WINDOW_MS = 60_000

export interface RestartHistory {
  /** When the task failed, within the window, oldest first. */
  readonly failures: readonly number[]
}

export const NO_FAILURES: RestartHistory = { failures: [] }

/** Notes one failure and forgets those that left the window. */
export function noteFailure(history: RestartHistory, now: number): RestartHistory {
  return { failures: [...history.failures.filter((at) => at > now - RESTART_WINDOW_MS), now] }
}

/** The decision, from the history with this exit already noted. Nothing restarts once the service drains. */
export function decide(history: RestartHistory, exit: Exit, running: boolean, random: Random): Decision {
  if (exit !== 'failed' || !running) return { tag: 'end' }
  if (history.failures.length > RESTARTS_MAX) return { tag: 'fatal' }
  return { tag: 'restart', afterMs: restartBackoff(history.failures.length, random) }
}
