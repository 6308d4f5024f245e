/**
 * A budget over time.
 *
 *     rate per second ──▶ ( level ≤ burst ) ──▶ take n
 *
 * Over any window of w seconds at most burst + rate·w is taken. The level is kept in thousandths of a
 * token and time in whole milliseconds, so refilling is exact integer arithmetic: rounding never adds
 * a token.
 */

export interface BucketShape {
  /** Tokens per second. */
  readonly rate: number
  /** The most that can be saved up, and the most that can be taken at once. */
  readonly burst: number
}

export interface BucketCore extends BucketShape {
  /** Thousandths of a token. */
  level: number
  /** Whole milliseconds up to which the level is right. */
  filledAt: number
}

export function createBucket({ rate, burst }: BucketShape, now: number): BucketCore {
  if (!Number.isSafeInteger(rate) || rate < 1) throw new RangeError('The rate of a bucket is a whole number above 0.')
  if (!Number.isSafeInteger(burst) || burst < 1)
    throw new RangeError('The burst of a bucket is a whole number above 0.')
  return { rate, burst, level: burst * 1000, filledAt: Math.floor(now) }
}

function refill(bucket: BucketCore, now: number): void {
  const elapsed = Math.floor(now) - bucket.filledAt
  if (elapsed <= 0) return
  bucket.level = Math.min(bucket.burst * 1000, bucket.level + elapsed * bucket.rate)
  bucket.filledAt += elapsed
}

/** Takes `amount` if the budget allows it now. */
export function tryTake(bucket: BucketCore, amount: number, now: number): boolean {
  if (amount > bucket.burst) throw new RangeError(`A bucket that holds ${bucket.burst} never gives ${amount} at once.`)
  refill(bucket, now)
  if (bucket.level < amount * 1000) return false
  bucket.level -= amount * 1000
  return true
}

/** Milliseconds until `amount` is available if no other task takes before. */
export function waitMs(bucket: BucketCore, amount: number, now: number): number {
  refill(bucket, now)
  return Math.max(0, Math.ceil((amount * 1000 - bucket.level) / bucket.rate))
}
