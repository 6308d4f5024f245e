import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { flipped } from '../test/model.ts'
import { decodeMapProof, encodeMapProof, type Hash, type MapProof, MerkleMap, verifyMapProof } from './index.ts'
import { EMPTY_MAP_ROOT } from './testing.ts'

const integrity = { kind: 'Integrity' }
const refused = { name: 'CairnError' }

function sha256(...parts: readonly Uint8Array[]): Hash {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return new Uint8Array(hash.digest())
}

/** Half of the paths are far apart, half share up to 250 bits, where the trie has its hard cases. */
const paths = fc.oneof(
  fc.nat(60).map((n) => sha256(Buffer.from(`path ${n}`))),
  fc.tuple(fc.nat(255), fc.nat(255)).map(([a, b]) => {
    const path = new Uint8Array(32)
    path[a >> 3] = 1 << (a & 7)
    path[b >> 3] = (path[b >> 3] ?? 0) | (1 << (b & 7))
    return path
  }),
)
const leaves = fc.nat(5).map((n) => sha256(Buffer.from(`leaf ${n}`)))
const changes = fc.array(fc.tuple(paths, fc.option(leaves, { nil: undefined, freq: 3 })), { maxLength: 60 })

type Entries = Map<string, { readonly path: Hash; readonly leaf: Hash }>

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

/** The root by its definition: bits, leaves and nothing clever. */
function naiveRoot(entries: readonly { readonly path: Hash; readonly leaf: Hash }[], depth = 0): Hash {
  const [first, second] = entries
  if (first === undefined) return new Uint8Array(32)
  if (second === undefined) return sha256(Uint8Array.of(2), first.path, first.leaf)
  const bit = (path: Hash) => Number.parseInt(hex(path).charAt(depth >> 2), 16) & (8 >> (depth & 3))
  const left = entries.filter(({ path }) => bit(path) === 0)
  const right = entries.filter(({ path }) => bit(path) !== 0)
  return sha256(Uint8Array.of(3), naiveRoot(left, depth + 1), naiveRoot(right, depth + 1))
}

function apply(list: readonly (readonly [Hash, Hash | undefined])[]): { map: MerkleMap; entries: Entries } {
  let map = MerkleMap.EMPTY
  const entries: Entries = new Map()
  for (const [path, leaf] of list) {
    map = leaf === undefined ? map.delete(path) : map.set(path, leaf)
    if (leaf === undefined) entries.delete(hex(path))
    else entries.set(hex(path), { path, leaf })
  }
  return { map, entries }
}

describe('MerkleMap', () => {
  test('after any changes has the content and the root of a plain map', () => {
    fc.assert(
      fc.property(changes, paths, (list, other) => {
        const { map, entries } = apply(list)
        assert.deepEqual(map.root, naiveRoot([...entries.values()]))
        for (const [path] of [...list, [other]]) {
          assert.deepEqual(map.get(path), entries.get(hex(path))?.leaf)
          assert.equal(map.delete(path) === map, !entries.has(hex(path)))
        }
      }),
      { numRuns: 300 },
    )
  })

  test('has one root for each content, whatever the order', () => {
    fc.assert(
      fc.property(changes, fc.nat(), (list, seed) => {
        const { map, entries } = apply(list)
        const shuffled = [...entries.values()].sort((a, b) =>
          Buffer.compare(sha256(a.path, Buffer.from(`${seed}`)), sha256(b.path, Buffer.from(`${seed}`))),
        )
        const again = shuffled.reduce((built, { path, leaf }) => built.set(path, leaf), MerkleMap.EMPTY)
        assert.deepEqual(again.root, map.root)
      }),
    )
  })

  test('without what was added is what it was, and never changes itself', () => {
    fc.assert(
      fc.property(
        changes,
        fc.uniqueArray(fc.tuple(paths, leaves), { selector: ([path]) => hex(path) }),
        (list, more) => {
          const { map, entries } = apply(list)
          const before = map.root.slice()
          const fresh = more.filter(([path]) => !entries.has(hex(path)))
          const grown = fresh.reduce((built, [path, leaf]) => built.set(path, leaf), map)
          const shrunk = fresh.toReversed().reduce((built, [path]) => built.delete(path), grown)
          assert.deepEqual(shrunk.root, before)
          assert.deepEqual(map.root, before)
          assert.equal(fresh.length === 0, Buffer.compare(grown.root, before) === 0)
        },
      ),
    )
  })

  test('has the empty root, the leaf itself as the root of one, and copies what it is given', () => {
    const [path, leaf] = [sha256(Buffer.from('p')), sha256(Buffer.from('l'))]
    assert.deepEqual(MerkleMap.EMPTY.root, EMPTY_MAP_ROOT)
    assert.deepEqual(EMPTY_MAP_ROOT, new Uint8Array(32))
    const map = MerkleMap.EMPTY.set(path, leaf)
    assert.deepEqual(map.root, sha256(Uint8Array.of(2), path, leaf))
    const key = path.slice()
    path.fill(0)
    leaf.fill(0)
    assert.deepEqual(map.get(key), sha256(Buffer.from('l')))
    assert.equal(map.delete(path), map)
    assert.deepEqual(map.delete(key).root, EMPTY_MAP_ROOT)
    assert.throws(() => map.set(new Uint8Array(31), leaf), { kind: 'Malformed' })
    assert.throws(() => map.set(path, new Uint8Array(33)), { kind: 'Malformed' })
    assert.throws(() => map.get(new Uint8Array(0)), { kind: 'Malformed' })
  })
})

describe('map proofs', () => {
  test('show what is at any path, there or not, and come back from their bytes', () => {
    fc.assert(
      fc.property(changes, paths, (list, other) => {
        const { map, entries } = apply(list)
        for (const path of [other, ...list.slice(0, 10).map(([changed]) => changed)]) {
          const proof = map.prove(path)
          assert.deepEqual(verifyMapProof(map.root, path, proof), entries.get(hex(path))?.leaf)
          assert.deepEqual(decodeMapProof(encodeMapProof(proof)), proof)
        }
      }),
      { numRuns: 200 },
    )
  })

  test('with any bit changed, or against a root with one changed, show nothing else', () => {
    fc.assert(
      fc.property(changes, paths, fc.nat(), (list, other, bit) => {
        const { map, entries } = apply(list)
        const path = list[bit % (list.length + 1)]?.[0] ?? other
        const bytes = encodeMapProof(map.prove(path))
        const changed = flipped(bytes, bit % (bytes.length * 8))
        assert.throws(() => verifyMapProof(map.root, path, decodeMapProof(changed)), refused)
        assert.throws(() => verifyMapProof(flipped(map.root, bit % 256), path, decodeMapProof(bytes)), integrity)
        assert.deepEqual(verifyMapProof(map.root, path, decodeMapProof(bytes)), entries.get(hex(path))?.leaf)
      }),
      { numRuns: 400 },
    )
  })

  test('of another path, another map, or cut and extended, never show what is not so', () => {
    fc.assert(
      fc.property(changes, changes, paths, paths, (list, others, a, b) => {
        const { map, entries } = apply(list)
        const truth = entries.get(hex(a))?.leaf
        const own = map.prove(a)
        const proofs: MapProof[] = [
          map.prove(b),
          apply(others).map.prove(a),
          { ...own, end: { kind: 'empty' } },
          { ...own, end: map.prove(b).end },
          { ...own, siblings: own.siblings.slice(1) },
          { ...own, siblings: own.siblings.slice(0, -1) },
          { ...own, siblings: [...own.siblings, EMPTY_MAP_ROOT] },
          { ...own, siblings: own.siblings.toReversed() },
        ]
        for (const proof of proofs) {
          try {
            assert.deepEqual(verifyMapProof(map.root, a, proof), truth)
          } catch (error) {
            assert.equal((error as Error).name, 'CairnError')
          }
        }
      }),
      { numRuns: 300 },
    )
  })

  test('of a map that was not built by the rules are refused where that shows', () => {
    const path = new Uint8Array(32)
    const leaf = sha256(Buffer.from('leaf'))
    const own = sha256(Uint8Array.of(2), path, leaf)
    const padded = sha256(Uint8Array.of(3), own, EMPTY_MAP_ROOT)
    const end = { kind: 'leaf', path, leaf } as const
    assert.throws(() => verifyMapProof(padded, path, { siblings: [EMPTY_MAP_ROOT], end }), integrity)
    const sibling = sha256(Buffer.from('sibling'))
    const misplaced = sha256(Uint8Array.of(3), sibling, own)
    const other = new Uint8Array(32).fill(0xff)
    assert.throws(() => verifyMapProof(misplaced, other, { siblings: [sibling], end }), integrity)
    const deep = new Array<Hash>(257).fill(sibling)
    const bottomless = deep.reduce((hash, beside) => sha256(Uint8Array.of(3), hash, beside), own)
    assert.throws(() => verifyMapProof(bottomless, path, { siblings: deep, end }), integrity)
    const deepest = deep.slice(1).reduce((hash, beside) => sha256(Uint8Array.of(3), hash, beside), own)
    assert.deepEqual(verifyMapProof(deepest, path, { siblings: deep.slice(1), end }), leaf)
  })

  test('of any bytes, either are read and written back the same, or refused', () => {
    const heads = fc.tuple(fc.integer({ min: 0, max: 2 }), fc.constant(0), fc.nat(4), fc.nat(200))
    fc.assert(
      fc.property(heads, ([kind, high, low, length]) => {
        const bytes = new Uint8Array(3 + length)
        bytes.set([kind, high, low])
        try {
          assert.deepEqual(encodeMapProof(decodeMapProof(bytes)), bytes)
        } catch (error) {
          assert.equal((error as Error).name, 'CairnError')
        }
      }),
      { numRuns: 2000 },
    )
    const tooDeep = new Uint8Array(3 + 257 * 32)
    tooDeep.set([0, 1, 1])
    for (const bytes of [new Uint8Array(2), Uint8Array.of(2, 0, 0), Uint8Array.of(0, 0, 0, 0), tooDeep]) {
      assert.throws(() => decodeMapProof(bytes), { kind: 'Malformed' })
    }
  })
})
