import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { flipped, makeLeaves, NaiveTree } from '../test/model.ts'
import { consistencyProof, inclusionProof, verifyConsistency, verifyInclusion } from './index.ts'
import { subtreeConsistencyProof, verifySubtreeConsistency, verifySubtreeInclusion } from './testing.ts'

const tree = new NaiveTree(makeLeaves(3000))
const refused = { name: 'CairnError' }

/** A size and an index or smaller size below it, small ones as often as large ones. */
const sizes = fc.oneof(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 3000 }))
const places = sizes.chain((size) => fc.record({ size: fc.constant(size), index: fc.nat(size - 1) }))
const growths = sizes.chain((to) => fc.record({ to: fc.constant(to), from: fc.integer({ min: 1, max: to }) }))
const bits = fc.nat(1_000_000)

/** On which side the siblings of a leaf are: all that a proof shows of where the leaf is. */
function sides(index: number, size: number): string {
  if (size <= 1) return ''
  const half = 2 ** Math.floor(Math.log2(size - 1))
  return index < half ? `${sides(index, half)}r` : `${sides(index - half, size - half)}l`
}

describe('inclusion proofs', () => {
  test('are those of RFC 6962 and verify, for every leaf of every tree up to 66 leaves', async () => {
    for (let size = 1; size <= 66; size += 1) {
      for (let index = 0; index < size; index += 1) {
        const proof = await inclusionProof(index, size, tree.read)
        assert.deepEqual(proof, tree.path(index, 0, size))
        verifyInclusion({ index, size, leaf: tree.hash(index, index + 1), root: tree.root(size), proof })
      }
    }
  })

  test('verify for any leaf, and not with a bit changed, a hash more or less, or another leaf', async () => {
    await fc.assert(
      fc.asyncProperty(places, bits, async ({ index, size }, bit) => {
        const proof = await inclusionProof(index, size, tree.read)
        assert.deepEqual(proof, tree.path(index, 0, size))
        const claim = { index, size, leaf: tree.hash(index, index + 1), root: tree.root(size), proof }
        verifyInclusion(claim)
        assert.throws(() => verifyInclusion({ ...claim, leaf: flipped(claim.leaf, bit) }), refused)
        assert.throws(() => verifyInclusion({ ...claim, root: flipped(claim.root, bit) }), refused)
        assert.throws(() => verifyInclusion({ ...claim, proof: [...proof, claim.root] }), refused)
        assert.throws(() => verifyInclusion({ ...claim, proof: [claim.root, ...proof] }), refused)
        if (proof.length > 0) {
          const at = bit % proof.length
          assert.throws(() => verifyInclusion({ ...claim, proof: proof.slice(1) }), refused)
          assert.throws(() => verifyInclusion({ ...claim, proof: proof.with(at, flipped(proof[at]!, bit)) }), refused)
        }
      }),
      { numRuns: 250 },
    )
  })

  test('do not verify at another index, nor for another size unless the way up is the same there', async () => {
    await fc.assert(
      fc.asyncProperty(places, fc.nat(3000), sizes, async ({ index, size }, otherIndex, otherSize) => {
        const proof = await inclusionProof(index, size, tree.read)
        const claim = { index, size, leaf: tree.hash(index, index + 1), root: tree.root(size), proof }
        if (otherIndex !== index) assert.throws(() => verifyInclusion({ ...claim, index: otherIndex }), refused)
        // A root does not hold its size: the signed checkpoint does. What is shown is the way up alone.
        if (index >= otherSize || sides(index, otherSize) !== sides(index, size)) {
          assert.throws(() => verifyInclusion({ ...claim, size: otherSize }), refused)
        }
      }),
      { numRuns: 250 },
    )
  })

  test('work in a subtree as in a tree of its own', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 9 }), fc.nat(2), places, (height, nth, { size, index }) => {
        const width = Math.min(size, 2 ** height)
        const start = nth * 2 ** height
        const end = start + width
        const place = start + (index % width)
        const proof = tree.path(place, start, end)
        const leaf = tree.hash(place, place + 1)
        verifySubtreeInclusion({ index: place, start, end, leaf, root: tree.hash(start, end), proof })
      }),
      { numRuns: 200 },
    )
  })
})

describe('consistency proofs', () => {
  test('are those of RFC 6962 and verify, between all trees up to 66 leaves', async () => {
    for (let to = 1; to <= 66; to += 1) {
      for (let from = 1; from <= to; from += 1) {
        const proof = await consistencyProof(from, to, tree.read)
        assert.deepEqual(proof, tree.consistency(from, to))
        verifyConsistency({ from, to, fromRoot: tree.root(from), toRoot: tree.root(to), proof })
      }
    }
  })

  test('verify between any trees, and not with a bit changed, a hash more or less, or another smaller size', async () => {
    await fc.assert(
      fc.asyncProperty(growths, bits, fc.nat(3000), async ({ from, to }, bit, otherFrom) => {
        const proof = await consistencyProof(from, to, tree.read)
        assert.deepEqual(proof, tree.consistency(from, to))
        const claim = { from, to, fromRoot: tree.root(from), toRoot: tree.root(to), proof }
        verifyConsistency(claim)
        assert.throws(() => verifyConsistency({ ...claim, fromRoot: flipped(claim.fromRoot, bit) }), refused)
        assert.throws(() => verifyConsistency({ ...claim, toRoot: flipped(claim.toRoot, bit) }), refused)
        assert.throws(() => verifyConsistency({ ...claim, proof: [...proof, claim.toRoot] }), refused)
        if (otherFrom !== from) assert.throws(() => verifyConsistency({ ...claim, from: otherFrom }), refused)
        if (proof.length > 0) {
          const at = bit % proof.length
          assert.throws(() => verifyConsistency({ ...claim, proof: proof.slice(1) }), refused)
          assert.throws(() => verifyConsistency({ ...claim, proof: proof.with(at, flipped(proof[at]!, bit)) }), refused)
        }
      }),
      { numRuns: 250 },
    )
  })

  test('do not join a tree to one that was changed below', async () => {
    await fc.assert(
      fc.asyncProperty(growths, bits, async ({ from, to }, bit) => {
        const changed = bit % from
        const leaves = tree.leaves.slice(0, to)
        const forked = new NaiveTree(leaves.with(changed, flipped(leaves[changed]!, bit)))
        const proof = await consistencyProof(from, to, forked.read)
        const claim = { from, to, fromRoot: tree.root(from), toRoot: forked.root(to), proof }
        assert.throws(() => verifyConsistency(claim), refused)
      }),
      { numRuns: 60 },
    )
  })

  test('of any subtree of any tree up to 40 leaves verify, and not with a bit changed', async () => {
    let proofs = 0
    for (let size = 1; size <= 40; size += 1) {
      for (let start = 0; start < size; start += 1) {
        for (let end = start + 1; end <= size; end += 1) {
          const holder = 2 ** Math.ceil(Math.log2(end - start))
          if (start % holder !== 0) {
            await assert.rejects(subtreeConsistencyProof({ start, end }, size, tree.read), { kind: 'Malformed' })
            continue
          }
          const proof = await subtreeConsistencyProof({ start, end }, size, tree.read)
          const claim = { start, end, size, subtreeRoot: tree.hash(start, end), root: tree.root(size), proof }
          verifySubtreeConsistency(claim)
          proofs += 1
          const wrong = proof.map((hash, at) => (at === proofs % proof.length ? flipped(hash, proofs) : hash))
          const tampered = { ...claim, proof: wrong, subtreeRoot: flipped(claim.subtreeRoot, proof.length > 0 ? 0 : 1) }
          assert.throws(() => verifySubtreeConsistency(tampered), refused)
        }
      }
    }
    assert.ok(proofs > 2000, String(proofs))
  })
})
