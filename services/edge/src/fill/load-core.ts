/**
 * Whether a miss that comes now could still be answered in time.
 *
 *     every worker busy, n fills in line before it:   expected wait = (n + 1) · holding time / workers
 *                                                     answered after  expected wait + time until a header
 *
 * Both times are moving averages over what fills took. Fills under way count as well: an upstream that has become slow
 * shows in how long they have been at it, long before the first of them ends.
 */

/** Before any fill has ended: rather too long, since it only matters where every worker is busy. */
const AT_START_MS = 1_000
/** How much one fill moves the average, once there have been some. */
const WEIGHT = 0.1

interface Average {
  ms: number
  samples: number
}

/** A fill that has a worker. */
export interface Running {
  readonly startedAt: number
  hasHeader: boolean
}

export interface FillLoad {
  readonly running: Set<Running>
  /** How long a fill keeps its worker, and how long its header takes. */
  readonly hold: Average
  readonly header: Average
}

export function createLoad(): FillLoad {
  return { running: new Set(), hold: { ms: AT_START_MS, samples: 0 }, header: { ms: AT_START_MS, samples: 0 } }
}

export function begin(load: FillLoad, now: number): Running {
  const fill = { startedAt: now, hasHeader: false }
  load.running.add(fill)
  return fill
}

/** Its clients have something to read. */
export function headerCame({ running, header }: FillLoad, fill: Running, now: number): void {
  if (fill.hasHeader || !running.has(fill)) return
  fill.hasHeader = true
  note(header, now - fill.startedAt)
}

/** It is over. One that was cut off would have taken longer than it did. */
export function end({ running, hold, header }: FillLoad, fill: Running, now: number, isWhole: boolean): void {
  if (!running.delete(fill)) return
  const tookMs = now - fill.startedAt
  if (isWhole || tookMs > hold.ms) note(hold, tookMs)
  if (!fill.hasHeader && (isWhole || tookMs > header.ms)) note(header, tookMs)
}

/** How long a fill with `ahead` in line before it waits for a worker, as things look now. */
export function expectedWaitMs({ running, hold }: FillLoad, workers: number, ahead: number, now: number): number {
  // A fill is in line because every worker is busy, whether or not its worker has begun.
  if (ahead === 0 && running.size < workers) return 0
  return ((ahead + 1) * Math.max(hold.ms, meanAgeMs([...running], now))) / workers
}

/** How long a fill that has a worker takes until its clients have something to read. */
export function expectedHeaderMs({ running, header }: FillLoad, now: number): number {
  return Math.max(
    header.ms,
    meanAgeMs(
      [...running].filter(({ hasHeader }) => !hasHeader),
      now,
    ),
  )
}

/** Whether a client with this much time left would hear nothing before it is over. */
export function isTooLate(load: FillLoad, workers: number, ahead: number, leftMs: number, now: number): boolean {
  const waitMs = expectedWaitMs(load, workers, ahead, now)
  // With a free worker it may try, however long fills take.
  return waitMs > 0 && waitMs + expectedHeaderMs(load, now) > leftMs
}

function meanAgeMs(fills: readonly Running[], now: number): number {
  if (fills.length === 0) return 0
  return fills.reduce((sum, { startedAt }) => sum + (now - startedAt), 0) / fills.length
}

function note(average: Average, ms: number): void {
  average.samples += 1
  average.ms += (ms - average.ms) * Math.max(WEIGHT, 1 / average.samples)
}
