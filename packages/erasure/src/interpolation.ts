/**
 * What makes one shard from others. The bytes at one place of all shards lie on a polynomial of degree below k:
 *
 *     shard   0    1    2   …  k−1 │  k   …  k+m−1          P(i) = the byte of shard i
 *     P(i)   data data data …  data│ parity … parity        any k points determine P, so they give every other
 *
 * The byte of shard `t` is the sum over the known shards `s` of L(s, t) · P(s), with Lagrange's basis
 *
 *     L(s, t) = ∏ (t − q) / (s − q)   over the other known shards q;      minus is exclusive or.
 *
 * The matrix that systems of this family get by inverting the top of a Vandermonde matrix holds the same numbers.
 */
import { logarithm, power } from './field.ts'

/** One row for each target, one column for each source. The targets are not among the sources. */
export function interpolation(sources: readonly number[], targets: readonly number[]): Uint8Array[] {
  const denominators = sources.map((source) => sumOfLogarithms(source, sources))
  return targets.map((target) => {
    const numerator = sumOfLogarithms(target, sources)
    return Uint8Array.from(sources, (source, column) =>
      power(numerator - logarithm(target ^ source) - (denominators[column] ?? 0)),
    )
  })
}

/** The logarithm of the product of the distances from `point` to all others in `points`. */
function sumOfLogarithms(point: number, points: readonly number[]): number {
  return points.reduce((sum, other) => (other === point ? sum : sum + logarithm(point ^ other)), 0)
}
