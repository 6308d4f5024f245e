/**
 * What repairs have moved in the last second. A bucket keeps an even pace, but a chunk is moved as a whole, however long
 * it was paid for: this keeps it from meeting others.
 *
 *     moved   ▌ ▌    ▌▌▌        ▌▌▌▌▌▌▌▌
 *             ├──────────┤                   in no second, wherever it begins, more than the budget
 *                               ├──────────┤ or one that is larger, alone
 */
export interface SlidingWindowLimiter {
  readonly bytesPerSecond: number
  /** Oldest first; those that still count. */
  readonly moves: { readonly at: number; readonly bytes: number }[]
  /** Of all of them. */
  bytes: number
}

/** A second, and what it may take until something that may be moved is. */
export const SPAN_MS = 1100

export function createSlidingWindow(bytesPerSecond: number): SlidingWindowLimiter {
  return { bytesPerSecond, moves: [], bytes: 0 }
}

/** Milliseconds until so many bytes may be moved, if nobody moves any before. */
export function waitMs(last: SlidingWindowLimiter, bytes: number, now: number): number {
  forget(last, now)
  let together = last.bytes + bytes
  let waitMs = 0
  for (const move of last.moves) {
    if (together <= last.bytesPerSecond) break
    together -= move.bytes
    // Two moves that are just so far apart still count together.
    waitMs = Math.floor(move.at + SPAN_MS - now) + 1
  }
  return waitMs
}

/** They are moved now. */
export function record(last: SlidingWindowLimiter, bytes: number, now: number): void {
  last.moves.push({ at: now, bytes })
  last.bytes += bytes
}

function forget(last: SlidingWindowLimiter, now: number): void {
  let over = 0
  for (const { at, bytes } of last.moves) {
    if (at + SPAN_MS >= now) break
    last.bytes -= bytes
    over += 1
  }
  last.moves.splice(0, over)
}
