import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { FileBytes } from './file-tree.ts'

/** Around the edges of the 64 KiB blocks, where mistakes would be. */
const position = fc.oneof(
  fc.integer({ min: 0, max: 600 }),
  fc.integer({ min: 65_530, max: 65_542 }),
  fc.integer({ min: 131_060, max: 131_080 }),
)

const step = fc.oneof(
  fc.record({
    tag: fc.constant('write' as const),
    at: position,
    bytes: fc.uint8Array({ minLength: 1, maxLength: 40 }),
  }),
  fc.record({ tag: fc.constant('resize' as const), at: position }),
  fc.record({ tag: fc.constant('clone' as const) }),
)

test('the bytes of a file are those of one flat array under any writes, cuts and copies', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), position, (steps, from) => {
      let file = new FileBytes()
      let flat = new Uint8Array()
      for (const each of steps) {
        if (each.tag === 'clone') {
          const copy = file.clone()
          file.write(0, Uint8Array.of(255))
          file = copy
        } else if (each.tag === 'resize') {
          file.resize(each.at)
          flat = resized(flat, each.at)
        } else {
          file.write(each.at, each.bytes)
          flat = resized(flat, Math.max(flat.length, each.at + each.bytes.length))
          flat.set(each.bytes, each.at)
        }
      }
      assert.equal(file.length, flat.length)
      const into = new Uint8Array(70_000).fill(7)
      const count = file.read(from, into)
      const expected = flat.subarray(from, from + into.length)
      assert.equal(count, expected.length)
      assert.equal(Buffer.compare(into.subarray(0, count), expected), 0)
      assert.ok(
        into.subarray(count).every((byte) => byte === 7),
        'nothing beyond the end is touched',
      )
    }),
    { numRuns: 200 },
  )
})

function resized(bytes: Uint8Array, length: number): Uint8Array<ArrayBuffer> {
  const next = new Uint8Array(length)
  next.set(bytes.subarray(0, length))
  return next
}
