/**
 * Which copy is asked first, when a second is asked as well, and how often that may be.
 *
 *     estimates  for each target: how long its last reads took; forgotten over time, so that a slow one is tried again
 *     delay      30 ms at first, then the 95th percentile of what readers waited
 *     credit     every read earns a twentieth of a second question: extra load stays at or below 5 %
 */

const SAMPLES = 128
/** Before there are so many, the delay is the configured one. */
const SAMPLES_MIN = 32
/** The percentile is worked out again after so many reads. */
const SAMPLES_PER_LOOK = 16
const PERCENTILE = 0.95
const CREDIT_PER_READ = 0.05
/** More is not saved up: a burst of slow reads is not made twice as large. */
const CREDIT_MAX = 8
/** An estimate counts half as much after this long. */
const HALF_LIFE_MS = 10_000
/** How much the newest read counts. */
const NEWEST_SHARE = 0.3
/** Timers are no finer. */
const DELAY_MS_MIN = 1

interface Estimate {
  readonly ms: number
  readonly at: number
}

export interface HedgingCore {
  readonly firstDelayMs: number
  readonly samples: number[]
  readonly estimates: Map<string, Estimate>
  reads: number
  hedges: number
  credit: number
  delayMs: number
}

export function createHedging(firstDelayMs: number): HedgingCore {
  return { firstDelayMs, samples: [], estimates: new Map(), reads: 0, hedges: 0, credit: 0, delayMs: firstDelayMs }
}

/** A read begins. */
export function readBegins(core: HedgingCore): void {
  core.credit = Math.min(CREDIT_MAX, core.credit + CREDIT_PER_READ)
}

/** Whether a read that is late may be asked of a second copy; if so it is counted. */
export function mayHedge(core: HedgingCore): boolean {
  // The sum of twentieths is never exact.
  if (core.credit < 1 - 1e-9) return false
  core.credit -= 1
  core.hedges += 1
  return true
}

/** A target answered, whether or not anybody still waited. */
export function targetTook(core: HedgingCore, target: string, ms: number, now: number): void {
  const before = core.estimates.get(target)
  const known = before === undefined ? ms : expected(core, target, now) * (1 - NEWEST_SHARE) + ms * NEWEST_SHARE
  core.estimates.set(target, { ms: Math.max(ms * NEWEST_SHARE, known), at: now })
}

/** A reader has its bytes. */
export function readerWaited(core: HedgingCore, ms: number): void {
  core.samples[core.reads % SAMPLES] = ms
  core.reads += 1
  if (core.reads < SAMPLES_MIN || core.reads % SAMPLES_PER_LOOK !== 0) return
  const sorted = [...core.samples].sort((a, b) => a - b)
  core.delayMs = Math.max(DELAY_MS_MIN, sorted[Math.floor(sorted.length * PERCENTILE)] ?? core.firstDelayMs)
}

/** What a read of the target is expected to take; nothing is expected of one that was not asked lately. */
export function expected(core: HedgingCore, target: string, now: number): number {
  const known = core.estimates.get(target)
  return known === undefined ? 0 : known.ms * 0.5 ** ((now - known.at) / HALF_LIFE_MS)
}
