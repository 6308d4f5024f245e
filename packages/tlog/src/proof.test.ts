import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { makeLeaves, NaiveTree } from '../test/model.ts'
import { readVectors } from '../test/vectors.ts'
import { consistencyProof, inclusionProof, verifyConsistency, verifyInclusion } from './index.ts'
import { EMPTY_ROOT, verifySubtreeConsistency, verifySubtreeInclusion } from './testing.ts'

interface Published {
  readonly proof: readonly string[] | null
  readonly desc: string
  readonly wantErr: boolean
}

interface Inclusion extends Published {
  readonly leafIdx: number
  readonly root: string
  readonly leafHash: string
}

interface Consistency extends Published {
  readonly root1: string
  readonly root2: string
}

const bytes = (text: string | null): Uint8Array => new Uint8Array(Buffer.from(text ?? '', 'base64'))

/** Judges every vector of a folder and says how many there were of each verdict. */
function judge<T extends Published>(vectors: [string, T][], check: (vector: T, proof: Uint8Array[]) => void): string {
  const counts = { accepted: 0, refused: 0 }
  for (const [path, vector] of vectors) {
    const run = () => {
      check(vector, (vector.proof ?? []).map(bytes))
    }
    if (vector.wantErr) {
      assert.throws(run, { name: 'CairnError' }, `${path}: ${vector.desc}`)
      counts.refused += 1
    } else {
      assert.doesNotThrow(run, `${path}: ${vector.desc}`)
      counts.accepted += 1
    }
  }
  assert.ok(counts.accepted > 0 && counts.refused > 0)
  return `${counts.accepted} accepted, ${counts.refused} refused`
}

describe('published Merkle vectors', () => {
  test('inclusion is judged as published', (t) => {
    const counts = judge(
      readVectors<Inclusion & { readonly treeSize: number }>('merkle/inclusion'),
      (vector, proof) => {
        const { leafIdx: index, treeSize: size, leafHash, root } = vector
        verifyInclusion({ index, size, leaf: bytes(leafHash), root: bytes(root), proof })
      },
    )
    t.diagnostic(counts)
  })

  test('inclusion in a subtree is judged as published', (t) => {
    type Vector = Inclusion & { readonly start: number; readonly end: number }
    const counts = judge(
      readVectors<Vector>('merkle/subtreeinclusion'),
      ({ leafIdx: index, start, end, leafHash, root }, proof) => {
        verifySubtreeInclusion({ index, start, end, leaf: bytes(leafHash), root: bytes(root), proof })
      },
    )
    t.diagnostic(counts)
  })

  test('consistency is judged as published', (t) => {
    type Vector = Consistency & { readonly size1: number; readonly size2: number }
    const counts = judge(
      readVectors<Vector>('merkle/consistency'),
      ({ size1: from, size2: to, root1, root2 }, proof) => {
        verifyConsistency({ from, to, fromRoot: bytes(root1), toRoot: bytes(root2), proof })
      },
    )
    t.diagnostic(counts)
  })

  test('consistency of a subtree is judged as published', (t) => {
    type Vector = Consistency & { readonly start: number; readonly end: number; readonly size: number }
    const counts = judge(
      readVectors<Vector>('merkle/subtreeconsistency'),
      ({ start, end, size, root1, root2 }, proof) => {
        verifySubtreeConsistency({ start, end, size, subtreeRoot: bytes(root1), root: bytes(root2), proof })
      },
    )
    t.diagnostic(counts)
  })
})

describe('proofs at the edges', () => {
  const tree = new NaiveTree(makeLeaves(9))

  test('a tree of one leaf needs no proof', async () => {
    const leaf = tree.hash(0, 1)
    assert.deepEqual(await inclusionProof(0, 1, tree.read), [])
    verifyInclusion({ index: 0, size: 1, leaf, root: leaf, proof: [] })
  })

  test('nothing is proved from the empty tree, since everything begins with it', async () => {
    await assert.rejects(consistencyProof(0, 9, tree.read), { kind: 'Malformed' })
    const claim = { from: 0, to: 9, fromRoot: EMPTY_ROOT, toRoot: tree.root(9), proof: [] }
    assert.throws(() => verifyConsistency(claim), { kind: 'Malformed' })
    assert.throws(() => verifyConsistency({ ...claim, to: 0, toRoot: EMPTY_ROOT }), { kind: 'Malformed' })
  })

  test('leaves and sizes that are not there are refused before anything is read', async () => {
    const read = () => assert.fail('nothing is to be read')
    for (const [index, size] of [
      [3, 3],
      [-1, 3],
      [0.5, 3],
      [0, 2 ** 53],
      [0, Number.NaN],
    ] as const) {
      await assert.rejects(inclusionProof(index, size, read), { kind: 'Malformed' })
      await assert.rejects(consistencyProof(size + 1, size, read), { kind: 'Malformed' })
    }
  })

  test('hashes of another length are refused, since they could be cut up in two ways', () => {
    const root = tree.root(2)
    const proof = [new Uint8Array([...tree.hash(1, 2), 0])]
    assert.throws(() => verifyInclusion({ index: 0, size: 2, leaf: tree.hash(0, 1), root, proof }), {
      kind: 'Malformed',
    })
  })

  test('sizes past 32 bits are located exactly', async () => {
    const size = 2 ** 52 + 2 ** 33 + 5
    const asked: [number, number][] = []
    const read = (level: number, index: number) => {
      asked.push([level, index])
      return tree.hash(level % 9, (level % 9) + 1)
    }
    await inclusionProof(size - 1, size, read)
    assert.deepEqual(asked, [
      [2, 2 ** 50 + 2 ** 31],
      [33, 2 ** 19],
      [52, 0],
    ])
  })
})
