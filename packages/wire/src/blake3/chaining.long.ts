import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chainingValues, hex, MIB, noise, randomSizes } from '../../test/objects.ts'
import { fold } from './chaining.ts'
import { blake3 } from './hash.ts'

test('fold of chaining values equals the native hash for 1 000 random sizes up to 64 MiB', (t) => {
  const bytes = noise(64 * MIB)
  let total = 0
  for (const { size, chunkSize } of randomSizes(1000)) {
    const object = bytes.subarray(0, size)
    assert.equal(hex(fold(chainingValues(object, chunkSize))), hex(blake3(object)), `${size} at ${chunkSize}`)
    total += size
  }
  t.diagnostic(`1 000 sizes, ${(total / 1e9).toFixed(1)} GB`)
})
