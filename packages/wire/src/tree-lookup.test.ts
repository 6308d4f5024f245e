import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { addressOf } from './address.ts'
import { decodeTree, encodeTree, entryNamed, type TreeEntry, treeOffsets } from './tree.ts'

const id = addressOf(new Uint8Array(3))

const name = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 40 })
  .filter((text) => text.isWellFormed() && !/[/\0]/.test(text) && text !== '.' && text !== '..')
const entry = fc.record({
  name,
  kind: fc.constantFrom('file' as const, 'tree' as const),
  id: fc.constant(id),
  size: fc.nat(2 ** 40),
})
const tree = fc.uniqueArray(entry, { selector: ({ name: each }) => each, maxLength: 300 })

test('every entry is found by its name, and no other name is', () => {
  fc.assert(
    fc.property(tree, name, (entries: readonly TreeEntry[], other) => {
      const bytes = encodeTree(entries)
      const offsets = treeOffsets(bytes)
      assert.equal(offsets.length, entries.length + 1)
      for (const each of decodeTree(bytes)) assert.deepEqual(entryNamed(bytes, offsets, each.name), each)
      const isThere = entries.some((each) => each.name === other)
      assert.equal(entryNamed(bytes, offsets, other) !== undefined, isThere)
    }),
    { numRuns: 50 },
  )
})

test('entries with a type are found, and so is the one of an empty name: there is none', () => {
  const bytes = encodeTree([
    { name: 'a', kind: 'file', id, size: 1, type: 'text/plain' },
    { name: 'b', kind: 'tree', id, size: 70_000 },
  ])
  const offsets = treeOffsets(bytes)
  assert.deepEqual(entryNamed(bytes, offsets, 'a'), { name: 'a', kind: 'file', id, size: 1, type: 'text/plain' })
  assert.equal(entryNamed(bytes, offsets, ''), undefined)
})

test('what is no directory has no offsets', () => {
  for (const bytes of [new Uint8Array(0), Buffer.from('hello'), encodeTree([]).subarray(0, -1)])
    assert.throws(() => treeOffsets(bytes), { kind: 'Malformed' })
})
