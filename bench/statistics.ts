export interface Spread {
  readonly median: number
  readonly min: number
  readonly max: number
  /** Median absolute deviation: how far a typical run is from the median. */
  readonly deviation: number
}

/** What a handful of runs say together; the median, because one disturbed run must not move the result. */
export function spreadOf(values: readonly number[]): Spread {
  if (values.length === 0) throw new RangeError('No runs, no statistics.')
  const median = medianOf(values)
  return {
    median,
    min: Math.min(...values),
    max: Math.max(...values),
    deviation: medianOf(values.map((value) => Math.abs(value - median))),
  }
}

function medianOf(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length / 2
  const [lower, upper] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]]
  if (lower === undefined || upper === undefined) throw new RangeError('No runs, no median.')
  return (lower + upper) / 2
}
