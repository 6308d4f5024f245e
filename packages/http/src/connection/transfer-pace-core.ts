/**
 * How fast a peer sends or takes bytes, judged only by the time we wait for it.
 *
 *     ours │ waiting for the peer │ ours │ waiting │ …      one window = `windowMs` of waiting
 *
 * Two ways to be too slow: one wait longer than `pauseMs`, or a window with fewer bytes than the rate asks for.
 */

export interface PaceLimits {
  readonly pauseMs: number
  /** 0 is no limit. */
  readonly bytesPerSecond: number
  readonly windowMs: number
}

export interface TransferPace {
  /** Since when we wait; undefined while the peer waits for us. */
  waitingSince: number | undefined
  /** In the window so far. */
  waitedMs: number
  bytes: number
}

export type PaceVerdict = 'fine' | 'stalled' | 'slow'

export function createPace(): TransferPace {
  return { waitingSince: undefined, waitedMs: 0, bytes: 0 }
}

export function startWaiting(pace: TransferPace, now: number): void {
  pace.waitingSince ??= now
}

/** The peer sent or took this many bytes; the wait is over. At the end of a window says whether they were enough. */
export function noteBytes(pace: TransferPace, bytes: number, limits: PaceLimits, now: number): 'fine' | 'slow' {
  if (pace.waitingSince !== undefined) pace.waitedMs += now - pace.waitingSince
  pace.waitingSince = undefined
  pace.bytes += bytes
  if (pace.waitedMs < limits.windowMs) return 'fine'
  const isSlow = pace.bytes < bytesDue(limits, pace.waitedMs)
  pace.waitedMs = 0
  pace.bytes = 0
  return isSlow ? 'slow' : 'fine'
}

/** Whether the wait that goes on now has gone on for too long. */
export function judge(pace: TransferPace, limits: PaceLimits, now: number): PaceVerdict {
  if (pace.waitingSince === undefined) return 'fine'
  const waiting = now - pace.waitingSince
  if (waiting >= limits.pauseMs) return 'stalled'
  const waited = pace.waitedMs + waiting
  return waited >= limits.windowMs && pace.bytes < bytesDue(limits, waited) ? 'slow' : 'fine'
}

function bytesDue({ bytesPerSecond }: PaceLimits, waitedMs: number): number {
  return (bytesPerSecond * waitedMs) / 1000
}
