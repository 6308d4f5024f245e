import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { addressFromDigest, addressOf } from './address.ts'
import { encodeCbor } from './cbor.ts'
import {
  decodeTree,
  encodeTree,
  entryNamed,
  MAX_TREE_BYTES,
  mayBeTree,
  parseLinkTarget,
  type TreeEntry,
  treeOffsets,
} from './tree.ts'

const id = addressOf(new Uint8Array(3))
const file = (name: string) => ({ name, kind: 'file' as const, id, size: 3 })

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
const rawLink = { name: 'a', kind: 'link', target: 'b' }
const raw2 = (entries: unknown): Uint8Array => encodeCbor({ v: 2, kind: 'tree', entries })
const raw = (entries: unknown, rest: object = {}): Uint8Array => encodeCbor({ v: 1, kind: 'tree', entries, ...rest })

describe('a received directory is refused', () => {
  const cases: readonly [name: string, bytes: Uint8Array, message: RegExp][] = [
    ['unsorted entries', raw([{ ...rawFile, name: 'b' }, rawFile]), /"a" is out of order/],
    ['another version', encodeCbor({ v: 3, kind: 'tree', entries: [] }), /not a tree of version 1 or 2/],
    ['a version that nothing in it needs', raw2([rawFile]), /nothing in it needs version 2/],
    ['another kind', encodeCbor({ v: 1, kind: 'file', entries: [] }), /not a tree of version 1/],
    ['an executable file in version 1', raw([{ ...rawFile, x: true }]), /an entry has the keys/],
    ['a link in version 1', raw([rawLink]), /an entry has the keys/],
    ['an executable directory', raw2([{ ...rawFile, kind: 'tree', x: true }]), /an entry has the keys/],
    ['an x that is false', raw2([{ ...rawFile, x: false }]), /is not true/],
    ['a link with an address', raw2([{ ...rawLink, id: rawFile.id }]), /a link has the keys/],
    ['a link to nowhere', raw2([{ ...rawLink, target: '' }]), /is empty/],
    ['an absolute link', raw2([{ ...rawLink, target: '/etc/passwd' }]), /is absolute/],
    ['a link that goes down and up', raw2([{ ...rawLink, target: 'a/../../b' }]), /after a name/],
    ['a link that stays and goes up', raw2([{ ...rawLink, target: './..' }]), /after a name/],
    ['a link with NUL', raw2([{ ...rawLink, target: 'a\0' }]), /NUL/],
    ['a link longer than a path', raw2([{ ...rawLink, target: 'a'.repeat(4096) }]), /4095/],
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
    ['an entry of another kind', raw([{ ...rawFile, kind: 'device' }]), /neither a file nor a tree/],
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

test('a link says how far it goes up and where from there', () => {
  assert.deepEqual(parseLinkTarget('../../lib/./x//'), { up: 2, names: ['lib', 'x'] })
  assert.deepEqual(parseLinkTarget('..'), { up: 1, names: [] })
  assert.deepEqual(parseLinkTarget('...'), { up: 0, names: ['...'] })
})

/** What version a directory needs shows in its bytes: `v` is the first key. */
test('only executable files and links need version 2', () => {
  const versionOf = (entries: readonly TreeEntry[]): number => encodeTree(entries)[3] ?? 0
  assert.equal(versionOf([file('a')]), 1)
  assert.equal(versionOf([{ ...file('a'), executable: true }]), 2)
  assert.equal(versionOf([file('a'), { name: 'l', kind: 'link', target: 'a' }]), 2)
  for (const entries of [[], [file('a')], [{ name: 'l', kind: 'link', target: 'a' } as const]]) {
    const bytes = encodeTree(entries)
    for (let length = 0; length <= bytes.length; length += 1) assert.ok(mayBeTree(bytes.subarray(0, length)))
    for (let at = 0; at < 15; at += 1)
      assert.ok(!mayBeTree(bytes.map((byte, place) => (place === at ? byte ^ 0x80 : byte))))
  }
})

test('any directory reads back, sorted by the UTF-8 bytes of its names, and each entry alone', () => {
  const name = fc
    .string({ unit: 'binary', minLength: 1, maxLength: 12 })
    .filter((text) => text.isWellFormed() && !/[/\0]/.test(text) && text !== '.' && text !== '..')
  const object = {
    name,
    id: fc.uint8Array({ minLength: 32, maxLength: 32 }).map(addressFromDigest),
    size: fc.maxSafeNat(),
    type: fc.constantFrom('text/html', 'application/octet-stream'),
  }
  const requiredKeys: ('name' | 'kind' | 'id' | 'size')[] = ['name', 'kind', 'id', 'size']
  const options = { requiredKeys, noNullPrototype: true } as const
  const link = { name, kind: fc.constant('link' as const), target: name.map((text) => `../${text}`) }
  const entry = fc.oneof(
    fc.record({ ...object, kind: fc.constant('file' as const), executable: fc.constant(true as const) }, options),
    fc.record({ ...object, kind: fc.constant('tree' as const) }, options),
    fc.record(link, { noNullPrototype: true }),
  )
  fc.assert(
    fc.property(fc.uniqueArray(entry, { selector: (each) => each.name, maxLength: 12 }), (entries) => {
      const bytes = encodeTree(entries)
      const sorted = [...entries].sort((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)))
      assert.deepEqual(decodeTree(bytes), sorted)
      const offsets = treeOffsets(bytes)
      for (const each of sorted) assert.deepEqual(entryNamed(bytes, offsets, each.name), each)
    }),
    { numRuns: 200 },
  )
})
