import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { addressFromDigest, addressOf } from './address.ts'
import { encodeCbor } from './cbor.ts'
import { decodeTree, encodeTree, MAX_TREE_BYTES, type TreeEntry } from './tree.ts'

const id = addressOf(new Uint8Array(3))
const file = (name: string): TreeEntry => ({ name, kind: 'file', id, size: 3 })

describe('directories', () => {
  test('the order in which entries are given does not reach the bytes', () => {
    const names = ['b', 'a', 'é', 'z', 'Z', 'a-long-name', '😀', '\ufb01', 'aa', '.hidden']
    const bytes = encodeTree(names.map(file))
    assert.deepEqual(encodeTree([...names].reverse().map(file)), bytes)
    const read = decodeTree(bytes).map((entry) => entry.name)
    // By UTF-8 bytes, U+FB01 (ef ac 81) comes before U+1F600 (f0 …); by UTF-16 units it would come after.
    assert.deepEqual(read, ['.hidden', 'Z', 'a', 'a-long-name', 'aa', 'b', 'z', 'é', '\ufb01', '😀'])
  })

  test('the encoding is the documented one', () => {
    const digest = Uint8Array.from(Buffer.from(id.slice(3), 'hex'))
    const expected = encodeCbor({
      v: 1,
      kind: 'tree',
      entries: [
        { name: 'a', kind: 'file', id: digest, size: 3, type: 'text/plain' },
        { name: 'b', kind: 'tree', id: digest, size: 7 },
      ],
    })
    const entries: TreeEntry[] = [
      { ...file('a'), type: 'text/plain' },
      { name: 'b', kind: 'tree', id, size: 7 },
    ]
    assert.deepEqual(encodeTree(entries), expected)
    assert.deepEqual(decodeTree(expected), entries)
    assert.deepEqual(decodeTree(encodeTree([])), [])
  })

  test('names that are empty, another directory, more than one segment, or not Unicode are refused', () => {
    for (const name of ['', '.', '..', 'a/b', '/', 'a\0b', '\ud800']) {
      assert.throws(() => encodeTree([file(name)]), { kind: 'Malformed' }, JSON.stringify(name))
      if (name.isWellFormed()) assert.throws(() => decodeTree(raw([{ ...rawFile, name }])), { kind: 'Malformed' })
    }
    assert.doesNotThrow(() => encodeTree([file('...'), file('a\\b'), file(' ')]))
  })

  test('two entries of one name are refused', () => {
    assert.throws(() => encodeTree([file('a'), file('b'), file('a')]), /"a" appears twice/)
    assert.throws(() => decodeTree(raw([rawFile, rawFile])), /"a" appears twice/)
  })
})

const rawFile = { name: 'a', kind: 'file', id: new Uint8Array(32), size: 3 }
const raw = (entries: unknown, rest: object = {}): Uint8Array => encodeCbor({ v: 1, kind: 'tree', entries, ...rest })

describe('a received directory is refused', () => {
  const cases: readonly [name: string, bytes: Uint8Array, message: RegExp][] = [
    ['unsorted entries', raw([{ ...rawFile, name: 'b' }, rawFile]), /"a" is out of order/],
    ['another version', encodeCbor({ v: 2, kind: 'tree', entries: [] }), /not a tree of version 1/],
    ['another kind', encodeCbor({ v: 1, kind: 'file', entries: [] }), /not a tree of version 1/],
    ['an unknown key', raw([], { more: 1 }), /has the keys entries, kind, more, v/],
    ['a missing key', encodeCbor({ v: 1, kind: 'tree' }), /has the keys kind, v/],
    ['entries that are no list', raw({}), /not a list/],
    ['an entry that is no map', raw([1]), /an entry is not a map/],
    ['an entry with an unknown key', raw([{ ...rawFile, mode: 1 }]), /an entry has the keys/],
    ['an entry without size', raw([{ name: 'a', kind: 'file', id: rawFile.id }]), /an entry has the keys/],
    ['a size below zero', raw([{ ...rawFile, size: -1 }]), /whole number/],
    ['a size with a fraction', raw([{ ...rawFile, size: 1.5 }]), /whole number/],
    ['a short id', raw([{ ...rawFile, id: new Uint8Array(31) }]), /32 bytes/],
    ['an id as text', raw([{ ...rawFile, id: id }]), /not a byte string/],
    ['an entry of another kind', raw([{ ...rawFile, kind: 'link' }]), /neither a file nor a tree/],
    ['a name that is no text', raw([{ ...rawFile, name: 1 }]), /name is not a string/],
    ['a type that could not be a header', raw([{ ...rawFile, type: 'a\r\nb' }]), /printable ASCII/],
    ['a list instead of a map', encodeCbor([1]), /not a map/],
    ['bytes that are no CBOR', Uint8Array.from([0xff]), /CBOR/],
  ]
  for (const [name, bytes, message] of cases) {
    test(name, () => assert.throws(() => decodeTree(bytes), { kind: 'Malformed', message }))
  }

  test('past its size limit', () => {
    assert.throws(() => decodeTree(new Uint8Array(MAX_TREE_BYTES + 1)), { kind: 'TooLarge' })
  })
})

test('any directory reads back, sorted by the UTF-8 bytes of its names', () => {
  const entry = fc.record(
    {
      name: fc
        .string({ unit: 'binary', minLength: 1, maxLength: 12 })
        .filter((name) => name.isWellFormed() && !/[/\0]/.test(name) && name !== '.' && name !== '..'),
      kind: fc.constantFrom('file' as const, 'tree' as const),
      id: fc.uint8Array({ minLength: 32, maxLength: 32 }).map(addressFromDigest),
      size: fc.maxSafeNat(),
      type: fc.constantFrom('text/html', 'application/octet-stream'),
    },
    { requiredKeys: ['name', 'kind', 'id', 'size'], noNullPrototype: true },
  )
  fc.assert(
    fc.property(fc.uniqueArray(entry, { selector: ({ name }) => name, maxLength: 12 }), (entries) => {
      const read = decodeTree(encodeTree(entries))
      const sorted = [...entries].sort((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)))
      assert.deepEqual(read, sorted)
    }),
    { numRuns: 200 },
  )
})
