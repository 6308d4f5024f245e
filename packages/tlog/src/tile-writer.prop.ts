import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { makeLeaves, NaiveTree } from '../test/model.ts'
import {
  consistencyProof,
  inclusionProof,
  parseTilePath,
  type Tile,
  type TileContent,
  TileWriter,
  tileHashReader,
  tilePath,
  tileRoot,
} from './index.ts'

const LEAVES = 66_000
const tree = new NaiveTree(makeLeaves(LEAVES))

/** A folder of tiles, as a log serves them. */
class Shelf {
  readonly files = new Map<string, Uint8Array>()
  reads = 0

  put(contents: readonly TileContent[]): void {
    for (const { tile, bytes } of contents) this.files.set(tilePath(tile), bytes)
  }

  read = (tile: Tile): Uint8Array => {
    this.reads += 1
    const bytes = this.files.get(tilePath(tile))
    if (bytes === undefined) throw new Error(`${tilePath(tile)} is not there`)
    return bytes
  }
}

function grow(writer: TileWriter, to: number, shelf: Shelf): void {
  while (writer.size < to) shelf.put(writer.append(tree.leaves[writer.size]!))
  shelf.put(writer.partialTiles())
}

/** The definition of C2SP tlog-tiles, hash by hash, for a tree of this size. */
function tilesOf(size: number): Map<string, Uint8Array> {
  const files = new Map<string, Uint8Array>()
  for (let level = 0, count = size; count > 0; level += 1, count = Math.floor(count / 256)) {
    for (let first = 0; first < count; first += 256) {
      const width = Math.min(256, count - first)
      const span = 256 ** level
      const hashes = Array.from({ length: width }, (_, at) => tree.hash((first + at) * span, (first + at + 1) * span))
      files.set(tilePath({ level, index: first / 256, width }), new Uint8Array(Buffer.concat(hashes)))
    }
  }
  return files
}

describe('TileWriter', () => {
  test('writes, leaf by leaf, the tiles the definition gives for the whole tree', () => {
    const writer = TileWriter.empty()
    const full = new Shelf()
    for (const size of [0, 1, 255, 256, 257, 511, 512, 1000, 65_535, 65_536, 65_537, LEAVES]) {
      while (writer.size < size) full.put(writer.append(tree.leaves[writer.size]!))
      const all = new Shelf()
      for (const [path, bytes] of full.files) all.files.set(path, bytes)
      all.put(writer.partialTiles())
      assert.deepEqual(all.files, tilesOf(size), `size ${size}`)
      assert.deepEqual(writer.root(), tree.root(size))
      assert.deepEqual(writer.frontier().root(), tree.root(size))
    }
  })

  test('goes on from tiles, or from a clone, as if it had never stopped', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(1000), fc.nat(600), async (size, more) => {
        const whole = new Shelf()
        const writer = TileWriter.empty()
        grow(writer, size, whole)
        const resumed = new Shelf()
        for (const [path, bytes] of whole.files) resumed.files.set(path, bytes)
        const cloned = new Shelf()
        grow(writer.clone(), size + more, cloned)
        grow(await TileWriter.resume(size, tileHashReader(size, whole.read)), size + more, resumed)
        grow(writer, size + more, whole)
        assert.deepEqual(resumed.files, whole.files)
        for (const [path, bytes] of cloned.files) assert.deepEqual(bytes, whole.files.get(path), path)
      }),
      { numRuns: 12 },
    )
  })

  test('a partial tile is the beginning of every wider one', () => {
    const shelf = new Shelf()
    const writer = TileWriter.empty()
    for (const size of [1, 30, 200, 256]) grow(writer, size, shelf)
    const full = shelf.read({ level: 0, index: 0, width: 256 })
    for (const [path, bytes] of shelf.files) {
      const { level, width } = parseTilePath(path)
      if (level === 0) assert.deepEqual(bytes, full.subarray(0, width * 32), path)
    }
  })
})

describe('tiles of a large tree', () => {
  const shelf = new Shelf()
  grow(TileWriter.empty(), LEAVES, shelf)

  test('are full ones whose root is what the tile above holds', () => {
    const above = shelf.read({ level: 1, index: 0, width: 256 })
    for (let index = 0; index < 256; index += 1) {
      const bytes = shelf.read({ level: 0, index, width: 256 })
      assert.deepEqual(tileRoot(bytes), above.slice(index * 32, (index + 1) * 32))
    }
    assert.throws(() => tileRoot(above.subarray(32)), { kind: 'Malformed' })
  })

  test('give proofs by themselves, asking for each tile once', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(LEAVES - 1), fc.integer({ min: 1, max: LEAVES }), async (index, from) => {
        shelf.reads = 0
        const proof = await inclusionProof(index, LEAVES, tileHashReader(LEAVES, shelf.read))
        assert.deepEqual(proof, tree.path(index, 0, LEAVES))
        assert.ok(shelf.reads <= 6, `${shelf.reads} tiles read`)
        const consistency = await consistencyProof(from, LEAVES, tileHashReader(LEAVES, shelf.read))
        assert.deepEqual(consistency, tree.consistency(from, LEAVES))
      }),
      { numRuns: 40 },
    )
  })

  test('are refused at the wrong length, as are hashes outside the tree', async () => {
    const short = tileHashReader(300, (tile) => new Uint8Array(tile.width * 32 - 1))
    await assert.rejects(async () => await short(0, 3), { kind: 'Malformed' })
    const reader = tileHashReader(300, shelf.read)
    await assert.rejects(async () => await reader(0, 300 + 256), { kind: 'Malformed' })
  })
})
