import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertSame, CODES, draws, stripe } from '../test/codes.ts'
import { allShards, systematicMatrix } from '../test/textbook.ts'
import { SHARDS_MAX, STEP_BYTES, WINDOW_BYTES } from './kernel.ts'

const CASES = process.env['CAIRN_LONG'] === '1' ? 10_000 : 2_000

interface Case {
  readonly k: number
  readonly m: number
  readonly length: number
  /** At least k of the shards' indices, in no order. */
  readonly present: readonly number[]
}

/** Mostly small codes and lengths around the kernel's step; now and then a code of any size or more than a window. */
function drawCase(seed: number): Case {
  const next = draws(seed)
  const k = 1 + next(seed % 1000 === 0 ? SHARDS_MAX : 12)
  const m = next(Math.min(SHARDS_MAX - k, seed % 1000 === 0 ? SHARDS_MAX : 8) + 1)
  const length = seed % 400 === 1 ? WINDOW_BYTES - STEP_BYTES + next(WINDOW_BYTES) : next(4 * STEP_BYTES)
  const shuffled = Array.from({ length: k + m }, (_, index) => ({ index, at: next(2 ** 31) }))
    .sort((a, b) => a.at - b.at)
    .map(({ index }) => index)
  return { k, m, length, present: shuffled.slice(0, k + next(m + 1)) }
}

test(`${CASES} codes with lost shards come out the same in every way of computing them and by the textbook`, (t) => {
  let rebuilt = 0
  const matrices = new Map<string, ReturnType<typeof systematicMatrix>>()
  for (let seed = 0; seed < CASES; seed++) {
    const { k, m, length, present } = drawCase(seed)
    const label = `seed ${seed}: ${k}+${m} of ${length} bytes without all but ${present.join(' ')}`
    const matrix = matrices.get(`${k}+${m}`) ?? systematicMatrix(k, m)
    matrices.set(`${k}+${m}`, matrix)
    const given = stripe(k, m, length, seed)
    const data = given.slice(0, k)
    const expected = allShards(
      matrix,
      data.map((_, index) => index),
      data,
    )
    const chosen = present.slice(0, k)
    const decoded = allShards(
      matrix,
      chosen,
      chosen.map((index) => expected[index]!),
    )
    assertSame(decoded, expected, `${label}: the textbook decodes what it encoded`)
    const wanted = expected.map((_, index) => index).reverse()
    for (const [name, code] of CODES) {
      const shards = given.map((shard) => shard.slice())
      code.encode(shards, k, m)
      assertSame(shards, expected, `${label}: encode, ${name}`)
      assert.ok(code.verify(shards, k, m), `${label}: verify, ${name}`)
      const left = shards.map((shard, index) => (present.includes(index) ? shard : undefined))
      assertSame(code.reconstruct(left, k, m, wanted).reverse(), expected, `${label}: reconstruct, ${name}`)
    }
    rebuilt += k + m - present.length
  }
  t.diagnostic(`${CASES} cases, ${rebuilt} shards rebuilt ${CODES.length} ways`)
})
