/**
 * Reed–Solomon as the textbook has it, slowly and sharing nothing with the package: products bit by bit, a Vandermonde
 * matrix made systematic by inverting its top, decoding by inverting the rows that are left.
 */

/** The product of two bytes without carries, then the remainder modulo x⁸ + x⁴ + x³ + x² + 1. */
export function carrylessProduct(a: number, b: number): number {
  let product = 0
  for (let bit = 0; bit < 8; bit++) if ((b >> bit) & 1) product ^= a << bit
  for (let bit = 14; bit >= 8; bit--) if ((product >> bit) & 1) product ^= 0b1_0001_1101 << (bit - 8)
  return product
}

const PRODUCT: readonly Uint8Array[] = Array.from({ length: 256 }, (_, a) =>
  Uint8Array.from({ length: 256 }, (_byte, b) => carrylessProduct(a, b)),
)
const times = (a: number, b: number): number => PRODUCT[a]![b]!
const inverseOf = (a: number): number => PRODUCT[a]!.indexOf(1)

type Matrix = readonly Uint8Array[]

/** Gauss–Jordan with the identity beside it. */
function inverse(square: Matrix): Matrix {
  const size = square.length
  const work = square.map((values, index) => {
    const extended = new Uint8Array(2 * size)
    extended.set(values)
    extended[size + index] = 1
    return extended
  })
  for (let pivot = 0; pivot < size; pivot++) {
    const found = work.findIndex((values, index) => index >= pivot && values[pivot] !== 0)
    if (found < 0) throw new Error('The matrix has no inverse.')
    ;[work[pivot], work[found]] = [work[found]!, work[pivot]!]
    const chosen = work[pivot]!
    scale(chosen, inverseOf(chosen[pivot]!))
    for (const other of work) if (other !== chosen) addMultiple(other, chosen, other[pivot]!)
  }
  return work.map((values) => values.slice(size))
}

function scale(values: Uint8Array, factor: number): void {
  for (let at = 0; at < values.length; at++) values[at] = times(values[at]!, factor)
}

function addMultiple(sum: Uint8Array, values: Uint8Array, factor: number): void {
  const products = PRODUCT[factor]!
  for (let at = 0; at < sum.length; at++) sum[at]! ^= products[values[at]!]!
}

/** `k + m` rows of `k`: the identity above the rows of the parity. */
export function systematicMatrix(k: number, m: number): Matrix {
  const vandermonde = Array.from({ length: k + m }, (_, shard) => {
    const powers = new Uint8Array(k).fill(1)
    for (let exponent = 1; exponent < k; exponent++) powers[exponent] = times(powers[exponent - 1]!, shard)
    return powers
  })
  const top = inverse(vandermonde.slice(0, k))
  return vandermonde.map((values) => combine(values, top))
}

/** Every shard from the `k` whose indices are given. */
export function allShards(matrix: Matrix, present: readonly number[], shards: readonly Uint8Array[]): Uint8Array[] {
  const back = inverse(present.map((index) => matrix[index]!))
  const data = back.map((coefficients) => combine(coefficients, shards))
  return matrix.map((coefficients) => combine(coefficients, data))
}

function combine(coefficients: Uint8Array, shards: readonly Uint8Array[]): Uint8Array {
  const sum = new Uint8Array(shards[0]!.length)
  for (const [index, shard] of shards.entries()) addMultiple(sum, shard, coefficients[index]!)
  return sum
}
