import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertSame, CODES, draws, stripe } from '../test/codes.ts'
import { publishedData, publishedShards, publishedTakes } from '../test/published.ts'
import { allShards, systematicMatrix } from '../test/textbook.ts'
import { encode, reconstruct } from './code.ts'
import { SHARDS_MAX, STEP_BYTES, WINDOW_BYTES } from './kernel.ts'

/** So many that those the published implementation takes, which knows no code without parity, are ten thousand. */
const CASES = 11_500

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
  const k = 1 + next(seed % 4000 === 0 ? SHARDS_MAX : 12)
  const m = next(Math.min(SHARDS_MAX - k, seed % 4000 === 0 ? SHARDS_MAX : 8) + 1)
  const length = seed % 400 === 1 ? WINDOW_BYTES - STEP_BYTES + next(WINDOW_BYTES) : next(4 * STEP_BYTES)
  const shuffled = Array.from({ length: k + m }, (_, index) => ({ index, at: next(2 ** 31) }))
    .sort((a, b) => a.at - b.at)
    .map(({ index }) => index)
  return { k, m, length, present: shuffled.slice(0, k + next(m + 1)) }
}

type Matrix = ReturnType<typeof systematicMatrix>

/** Textbooks and three ways of ours take their time: unless there is plenty, every twentieth case has to do. */
const ALL_WAYS_EVERY = process.env['CAIRN_LONG'] === '1' ? 1 : 20

test(`${CASES} codes with lost shards come out as in a published implementation, and by the textbook in every way`, (t) => {
  const counts = { published: 0, textbook: 0, rebuilt: 0 }
  const matrices = new Map<string, Matrix>()
  for (let seed = 0; seed < CASES; seed++) {
    const drawn = drawCase(seed)
    const { k, m, length, present } = drawn
    const label = `seed ${seed}: ${k}+${m} of ${length} bytes without all but ${present.join(' ')}`
    counts.rebuilt += k + m - present.length
    if (publishedTakes(m, length)) {
      asPublished(drawn, seed, label)
      counts.published += 1
    }
    if (seed % ALL_WAYS_EVERY === 0 || seed % 1200 === 1) {
      const matrix = matrices.get(`${k}+${m}`) ?? systematicMatrix(k, m)
      matrices.set(`${k}+${m}`, matrix)
      asTheTextbook(drawn, seed, matrix, label)
      counts.textbook += 1
    }
  }
  assert.ok(counts.published >= 10_000)
  const ways = `${counts.published} beside the published implementation, ${counts.textbook} by the textbook`
  t.diagnostic(`${CASES} cases, ${ways}, ${counts.rebuilt} shards lost and rebuilt`)
})

function asPublished({ k, m, length, present }: Case, seed: number, label: string): void {
  const shards = stripe(k, m, length, seed)
  encode(shards, k, m)
  assertSame(shards, publishedShards(shards.slice(0, k), m), `${label}: encode, published`)
  const left = shards.map((shard, index) => (present.includes(index) ? shard : undefined))
  const data = shards.slice(0, k).map((_, index) => index)
  assertSame(publishedData(shards, k, present), reconstruct(left, k, m, data), `${label}: reconstruct, published`)
}

function asTheTextbook({ k, m, length, present }: Case, seed: number, matrix: Matrix, label: string): void {
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
}
