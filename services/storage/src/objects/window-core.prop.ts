import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { recut, windowsOf } from './window-core.ts'

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

test('cut in another size, a window is the same bytes', () => {
  const chunkSizes = fc.constantFrom(16_384, 65_536, 262_144, 1_048_576)
  const bytesOf = (window: ReturnType<typeof recut>, chunkSize: number): string =>
    window.map(({ chunk, from, to }) => `${chunk * chunkSize + from}…${chunk * chunkSize + to}`).join()
  fc.assert(
    fc.property(chunkSizes, chunkSizes, fc.nat(20_000_000), fc.nat(5_000_000), (one, other, first, length) => {
      for (const window of windowsOf({ first, last: first + length }, one)) {
        const there = recut(window, one, other)
        for (const { from, to } of there) assert.ok(from >= 0 && from < to && to <= other)
        assert.equal(bytesOf(recut(there, other, one), one), bytesOf(window, one))
      }
    }),
  )
})
