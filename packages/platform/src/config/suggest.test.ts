import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { editDistance, nearest } from './problem.ts'

test('edit distance counts inserts, deletes, replacements and swapped neighbours', () => {
  const cases: [string, string, number][] = [
    ['', '', 0],
    ['', 'abc', 3],
    ['mode', 'mode', 0],
    ['mode', 'mod', 1],
    ['mdoe', 'mode', 1],
    ['moxe', 'mode', 1],
    ['kitten', 'sitting', 3],
  ]
  for (const [from, to, distance] of cases) assert.equal(editDistance(from, to), distance, `${from} → ${to}`)
})

test('edit distance is the same both ways and never above the longer word', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 12 }), fc.string({ maxLength: 12 }), (a, b) => {
      const distance = editDistance(a, b)
      assert.equal(distance, editDistance(b, a))
      assert.ok(distance <= Math.max(a.length, b.length))
      assert.equal(distance === 0, a === b)
    }),
  )
})

test('the nearest word is offered only when it is near', () => {
  const known = ['max_body_bytes', 'max_rps', 'mode']
  assert.equal(nearest('max_body_byte', known), 'max_body_bytes')
  assert.equal(nearest('MODE', known), 'mode')
  assert.equal(nearest('replication', known), undefined)
  assert.equal(nearest('anything', []), undefined)
})
