import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hex, KIB, noise } from '../../test/objects.ts'
import { compressLeaf, compressParent } from './compress.ts'
import { instantiateLanes, LANES } from './lanes.ts'

const INPUT = 512
const OUTPUT = 16 * KIB

function outputs(memory: Uint8Array): string[] {
  return Array.from({ length: LANES }, (_, lane) => hex(memory.slice(OUTPUT + 32 * lane, OUTPUT + 32 * (lane + 1))))
}

test('four leaves at once are what they are one by one, for every counter', () => {
  const kernel = instantiateLanes()
  assert.ok(kernel)
  const leaves = noise(LANES * KIB)
  kernel.memory.set(leaves, INPUT)
  for (const counter of [0, 4, 1_020, 2 ** 32 - 4, 2 ** 32, 2 ** 40 + 8]) {
    kernel.compress4(INPUT, 1, counter % 2 ** 32, Math.floor(counter / 2 ** 32), OUTPUT)
    const expected = [0, 1, 2, 3].map((lane) =>
      hex(compressLeaf(leaves.subarray(lane * KIB, (lane + 1) * KIB), counter + lane)),
    )
    assert.deepEqual(outputs(kernel.memory), expected, `counter ${counter}`)
  }
})

test('four parents at once are what they are one by one, and nothing else in memory changes', () => {
  const kernel = instantiateLanes()
  assert.ok(kernel)
  const nodes = noise(LANES * 64)
  kernel.memory.fill(0xee)
  kernel.memory.set(nodes, INPUT)
  kernel.compress4(INPUT, 0, 0, 0, OUTPUT)
  const expected = [0, 64, 128, 192].map((at) =>
    hex(compressParent(nodes.subarray(at, at + 32), nodes.subarray(at + 32, at + 64), false)),
  )
  assert.deepEqual(outputs(kernel.memory), expected)
  assert.ok(kernel.memory.subarray(OUTPUT + 32 * LANES).every((byte) => byte === 0xee))
  assert.equal(kernel.memory.length, 128 * KIB)
})
