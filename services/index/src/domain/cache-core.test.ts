import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createCache, readEntry, sweepEntries, writeEntry } from './cache-core.ts'

const LIMIT = { entries: 3, isPinned: (key: string) => key.startsWith('pinned') }

function filled(keys: readonly string[]) {
  const cache = createCache<string>()
  for (const [at, key] of keys.entries())
    writeEntry(cache, key, { value: key, storedAt: at, expiresAt: at + 10 }, LIMIT)
  return cache
}

test('an entry is read until the moment it expires, and never after', () => {
  const cache = filled(['a'])
  assert.equal(readEntry(cache, 'a', 9.9)?.value, 'a')
  assert.equal(readEntry(cache, 'a', 10), undefined)
})

test('past the limit the oldest goes first; what is written again is young again', () => {
  assert.deepEqual([...filled(['a', 'b', 'c', 'd']).entries.keys()], ['b', 'c', 'd'])
  assert.deepEqual([...filled(['a', 'b', 'c', 'a', 'd']).entries.keys()], ['c', 'a', 'd'])
})

test('what is pinned is not pushed out', () => {
  assert.deepEqual([...filled(['pinned 1', 'a', 'b', 'c']).entries.keys()], ['pinned 1', 'b', 'c'])
})

test('what has expired is let go', () => {
  const cache = filled(['a', 'b', 'c'])
  sweepEntries(cache, 11)
  assert.deepEqual([...cache.entries.keys()], ['c'])
})

test('unless more is pinned than fits, the limit holds whatever is written', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'pinned 1', 'pinned 2')), (keys) => {
      assert.ok(filled(keys).entries.size <= LIMIT.entries)
    }),
  )
})
