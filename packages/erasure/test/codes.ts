import assert from 'node:assert/strict'
import { wasm } from '@cairn/wire'
import { type ErasureCode, erasureCode, mixIn, mixPlain } from '../src/code.ts'
import { instantiateKernel } from '../src/kernel.ts'

function inVectors(lookup: typeof wasm.swizzle): ErasureCode {
  const kernel = instantiateKernel([lookup])
  if (kernel === undefined) throw new Error('This host cannot run the kernel.')
  return erasureCode(mixIn(kernel))
}

/** Every way to compute the code; all must give the same bytes. */
export const CODES: readonly (readonly [name: string, code: ErasureCode])[] = [
  ['plain', erasureCode(mixPlain)],
  ['vectors', inVectors(wasm.swizzle)],
  ['vectors with relaxed lookups', inVectors(wasm.relaxedSwizzle)],
]

/** Numbers that look random and are the same for the same seed (xorshift32); `next(n)` is below n. */
export function draws(seed: number): (below: number) => number {
  let state = (seed + 1) * 0x9e3779b9 || 1
  return (below) => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % below
  }
}

/** `k` data shards of bytes that look random and `m` parity shards full of rubbish. */
export function stripe(k: number, m: number, length: number, seed = 0): Uint8Array[] {
  const next = draws(seed)
  return Array.from({ length: k + m }, () => {
    const words = new Uint32Array(Math.ceil(length / 4))
    for (let at = 0; at < words.length; at += 1) words[at] = next(2 ** 32)
    return new Uint8Array(words.buffer, 0, length)
  })
}

/** Every choice of `count` of the numbers below `size`. */
export function choices(size: number, count: number): number[][] {
  if (count === 0) return [[]]
  if (size < count) return []
  return [...choices(size - 1, count), ...choices(size - 1, count - 1).map((chosen) => [...chosen, size - 1])]
}

/** As deepEqual, without its minutes of printing two long shards. */
export function assertSame(
  actual: readonly (Uint8Array | undefined)[],
  expected: readonly (Uint8Array | undefined)[],
  message = 'shards',
): void {
  assert.equal(actual.length, expected.length, message)
  for (const [index, shard] of expected.entries()) {
    assert.ok(Buffer.compare(actual[index]!, shard!) === 0, `${message}: number ${index} differs`)
  }
}
