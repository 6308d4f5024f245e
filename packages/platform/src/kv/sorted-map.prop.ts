import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '@cairn/kernel'
import type { KvOperation } from './kv.ts'
import { SortedMap } from './sorted-map.ts'

test('a map of thousands stays in order while blocks split and vanish, and old versions stay as they were', () => {
  const random = new SeededRandom(7)
  const model = new Map<number, number>()
  let map = SortedMap.EMPTY
  let old: { map: SortedMap; keys: number[] } | undefined
  for (let round = 0; round < 40; round += 1) {
    const operations: KvOperation[] = []
    for (let each = 0; each < 200; each += 1) {
      const key = Math.floor(random.next() * 4000)
      // The second half deletes more than it puts, so that blocks become empty.
      if (random.next() < (round < 20 ? 0.8 : 0.2)) {
        operations.push({ tag: 'put', key: keyBytes(key), value: keyBytes(round) })
        model.set(key, round)
      } else {
        operations.push({ tag: 'delete', key: keyBytes(key) })
        model.delete(key)
      }
    }
    map = map.apply(operations)
    if (round === 15) old = { map, keys: [...model.keys()].sort((a, b) => a - b) }
  }
  const expected = [...model].sort(([a], [b]) => a - b)
  assert.deepEqual(
    [...map.range({})].map(({ key, value }) => [number(key), number(value)]),
    expected,
  )
  for (const [key, value] of expected) assert.equal(number(map.get(keyBytes(key)) ?? new Uint8Array(4)), value)
  assert.equal(map.get(keyBytes(5000)), undefined)
  const window = expected.filter(([key]) => key >= 1000 && key < 3000).map(([key]) => key)
  const read = [...map.range({ from: keyBytes(1000), to: keyBytes(3000) })]
  assert.deepEqual(
    read.map(({ key }) => number(key)),
    window,
  )
  assert.deepEqual(
    [...(old?.map.range({}) ?? [])].map(({ key }) => number(key)),
    old?.keys,
  )
})

function keyBytes(value: number): Uint8Array {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

function number(bytes: Uint8Array): number {
  return Buffer.from(bytes).readUInt32BE()
}
