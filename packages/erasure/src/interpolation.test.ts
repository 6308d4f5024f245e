import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertSame } from '../test/codes.ts'
import { systematicMatrix } from '../test/textbook.ts'
import { interpolation } from './code.ts'

test('parity has the coefficients of a Vandermonde matrix whose top was made the identity', () => {
  const shapes = [
    [1, 254],
    [254, 1],
    [60, 195],
    [128, 127],
  ]
  for (let k = 1; k <= 20; k++) for (let m = 0; m <= 6; m++) shapes.push([k, m])
  for (const [k = 0, m = 0] of shapes) {
    const indices = Array.from({ length: k + m }, (_, index) => index)
    const rows = interpolation(indices.slice(0, k), indices.slice(k))
    assertSame(rows, systematicMatrix(k, m).slice(k), `${k}+${m}`)
  }
})

test('the parity of a single data shard is a copy of it', () => {
  assert.deepEqual(interpolation([0], [1, 200]), [Uint8Array.of(1), Uint8Array.of(1)])
})
