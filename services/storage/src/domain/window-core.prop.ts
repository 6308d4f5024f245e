import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { windowsOf } from './window-core.ts'

test('windows cover the range exactly, in order, and none is much above 1 MiB', () => {
  const chunkSizes = fc.constantFrom(16_384, 65_536, 262_144, 1_048_576)
  fc.assert(
    fc.property(chunkSizes, fc.nat(20_000_000), fc.nat(5_000_000), (chunkSize, first, length) => {
      const last = first + length
      let at = first
      for (const window of windowsOf({ first, last }, chunkSize)) {
        let bytes = 0
        for (const { chunk, from, to } of window) {
          assert.equal(chunk * chunkSize + from, at)
          assert.ok(from >= 0 && from < to && to <= chunkSize)
          at += to - from
          bytes += to - from
        }
        assert.ok(bytes > 0 && bytes < 1_048_576 + chunkSize)
      }
      assert.equal(at, last + 1)
    }),
  )
})
