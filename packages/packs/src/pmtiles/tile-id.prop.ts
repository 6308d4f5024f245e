import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { tileIdToZxy, zxyToTileId } from 'pmtiles'
import { tileId, tileOf } from './format.ts'

const place = fc.integer({ min: 0, max: 26 }).chain((z) =>
  fc.record({
    z: fc.constant(z),
    x: fc.integer({ min: 0, max: 2 ** z - 1 }),
    y: fc.integer({ min: 0, max: 2 ** z - 1 }),
  }),
)

test("the order of tiles is the format author's, at every zoom", () => {
  fc.assert(
    fc.property(place, ({ z, x, y }) => {
      const id = tileId(z, x, y)
      assert.equal(id, zxyToTileId(z, x, y))
      assert.deepEqual(tileOf(id), { z, x, y })
      assert.deepEqual(Object.values(tileOf(id)), tileIdToZxy(id))
    }),
    { numRuns: 2000 },
  )
})

test('all tiles of the first seven zooms have one id each, without a gap', () => {
  const ids = new Set<number>()
  for (let z = 0; z <= 6; z += 1)
    for (let x = 0; x < 2 ** z; x += 1) for (let y = 0; y < 2 ** z; y += 1) ids.add(tileId(z, x, y))
  assert.equal(ids.size, (4 ** 7 - 1) / 3)
  assert.equal(Math.max(...ids), ids.size - 1)
})
