import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { makeLeaves, NaiveTree } from '../test/model.ts'
import { Frontier, leafHash } from './index.ts'
import { EMPTY_ROOT } from './testing.ts'

const LEAVES = 10_000
const tree = new NaiveTree(makeLeaves(LEAVES))

function grow(size: number): Frontier {
  const frontier = new Frontier()
  for (const leaf of tree.leaves.slice(0, size)) frontier.append(leaf)
  return frontier
}

describe('Frontier', () => {
  test('has the root of the recursive definition at every size from 0 to 600', () => {
    const frontier = new Frontier()
    assert.deepEqual(frontier.root(), EMPTY_ROOT)
    for (let size = 0; size <= 600; size += 1) {
      assert.equal(frontier.size, size)
      assert.deepEqual(frontier.root(), tree.root(size), `size ${size}`)
      frontier.append(tree.leaves[size]!)
    }
  })

  test('has the root of the recursive definition at any larger size', () => {
    const frontier = new Frontier()
    const wanted = new Set(fc.sample(fc.integer({ min: 601, max: LEAVES }), 40))
    for (const leaf of tree.leaves) {
      frontier.append(leaf)
      if (wanted.has(frontier.size)) assert.deepEqual(frontier.root(), tree.root(frontier.size), `${frontier.size}`)
    }
  })

  test('tells of every subtree the moment it is complete, the lowest first, each once', () => {
    const frontier = new Frontier()
    const told = new Set<string>()
    for (let size = 1; size <= 300; size += 1) {
      let below = -1
      frontier.append(tree.leaves[size - 1]!, ({ level, index }, hash) => {
        assert.equal(level, below + 1)
        below = level
        assert.equal((index + 1) * 2 ** level, size)
        assert.deepEqual(hash, tree.read(level, index))
        told.add(`${level}/${index}`)
      })
    }
    const expected = Array.from({ length: 9 }, (_, level) => Math.floor(300 / 2 ** level))
    assert.equal(
      told.size,
      expected.reduce((sum, count) => sum + count),
    )
  })

  test('is the same read from a tree, decoded, or cloned, and all of them grow alike and apart', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(1200), async (size) => {
        const frontier = grow(size)
        const encoded = frontier.encode()
        const copies = [await Frontier.read(size, tree.read), Frontier.decode(encoded), frontier.clone()]
        frontier.append(tree.leaves[size]!)
        for (const copy of copies) {
          assert.deepEqual(copy.encode(), encoded)
          copy.append(tree.leaves[size]!)
          assert.deepEqual(copy.root(), tree.root(size + 1))
          assert.deepEqual(copy.encode(), frontier.encode())
        }
      }),
      { numRuns: 30 },
    )
  })

  test('decodes only what some frontier encodes to', () => {
    const encoded = grow(7).encode()
    const refused = [
      new Uint8Array(0),
      encoded.subarray(0, 7),
      encoded.subarray(0, -1),
      encoded.subarray(0, -32),
      new Uint8Array([...encoded, ...new Uint8Array(32)]),
      new Uint8Array(8).fill(0xff),
      new Uint8Array([0, 0x20, 0, 0, 0, 0, 0, 0, ...new Uint8Array(32)]),
    ]
    for (const bytes of refused) assert.throws(() => Frontier.decode(bytes), { kind: 'Malformed' })
    assert.equal(Frontier.decode(encoded).size, 7)
  })

  test('refuses a leaf that is no hash, and stays as it was', () => {
    const frontier = grow(5)
    assert.throws(() => frontier.append(new Uint8Array(31)), { kind: 'Malformed' })
    assert.deepEqual(frontier.root(), tree.root(5))
    frontier.append(leafHash(new Uint8Array(0)))
    assert.equal(frontier.size, 6)
  })
})
