/**
 * A map from 32-byte paths to 32-byte leaves with one root for each content, whatever the order it was made in.
 *
 *   bits of the path, first bit first          0 ╱ ╲ 1          C is alone under 1, so it stands there itself;
 *                                               ○   C           A and B share two bits, so the third decides;
 *   A = 000…   B = 001…   C = 1…             0 ╱ ╲ 1            nothing starts with 01, so that side is empty.
 *                                             ○   ·
 *                                          0 ╱ ╲ 1
 *                                           A   B
 *
 * Following a path's bits down from a root meets exactly one of empty, its own leaf or another's: no root
 * proves both presence and absence. What each node hashes to is in `map-hash.ts`.
 */

import { equalBytes, type Hash, requireHash } from './hash.ts'
import { EMPTY_MAP_ROOT, mapInnerHash, mapLeafHash, pathBit } from './map-hash.ts'
import type { MapEnd, MapProof } from './map-proof.ts'

interface Empty {
  readonly kind: 'empty'
}

interface Leaf {
  readonly kind: 'leaf'
  readonly path: Hash
  readonly leaf: Hash
  hash: Hash | undefined
}

interface Inner {
  readonly kind: 'inner'
  readonly left: Trie
  readonly right: Trie
  /** Filled on first use, so that many changes in a row hash only what is left of them. */
  hash: Hash | undefined
}

type Trie = Empty | Leaf | Inner

const EMPTY: Empty = { kind: 'empty' }

/** Immutable: `set` and `delete` give another map, which shares all that did not change. */
export class MerkleMap {
  static readonly EMPTY = new MerkleMap(EMPTY)
  readonly #trie: Trie

  private constructor(trie: Trie) {
    this.#trie = trie
  }

  get root(): Hash {
    return hashOf(this.#trie)
  }

  get(path: Hash): Hash | undefined {
    requireHash(path)
    let at = this.#trie
    for (let depth = 0; at.kind === 'inner'; depth += 1) at = pathBit(path, depth) === 0 ? at.left : at.right
    return at.kind === 'leaf' && equalBytes(at.path, path) ? at.leaf : undefined
  }

  /** The map with `leaf` at `path`, in place of what was there. */
  set(path: Hash, leaf: Hash): MerkleMap {
    requireHash(path)
    requireHash(leaf)
    const added: Leaf = { kind: 'leaf', path: path.slice(), leaf: leaf.slice(), hash: undefined }
    return new MerkleMap(insert(this.#trie, added, 0))
  }

  /** The map without `path`; the same map where there was nothing. */
  delete(path: Hash): MerkleMap {
    requireHash(path)
    const trie = remove(this.#trie, path, 0)
    return trie === this.#trie ? this : new MerkleMap(trie)
  }

  /** Shows, to whoever knows the root, the leaf at `path` or that there is none. */
  prove(path: Hash): MapProof {
    requireHash(path)
    const siblings: Hash[] = []
    let at = this.#trie
    for (let depth = 0; at.kind === 'inner'; depth += 1) {
      const [next, sibling]: [Trie, Trie] = pathBit(path, depth) === 0 ? [at.left, at.right] : [at.right, at.left]
      siblings.push(hashOf(sibling))
      at = next
    }
    const end: MapEnd = at.kind === 'leaf' ? { kind: 'leaf', path: at.path, leaf: at.leaf } : EMPTY
    return { siblings, end }
  }
}

function hashOf(trie: Trie): Hash {
  switch (trie.kind) {
    case 'empty':
      return EMPTY_MAP_ROOT
    case 'leaf':
      trie.hash ??= mapLeafHash(trie.path, trie.leaf)
      return trie.hash
    case 'inner':
      trie.hash ??= mapInnerHash(hashOf(trie.left), hashOf(trie.right))
      return trie.hash
  }
}

function inner(left: Trie, right: Trie): Inner {
  return { kind: 'inner', left, right, hash: undefined }
}

function insert(trie: Trie, leaf: Leaf, depth: number): Trie {
  switch (trie.kind) {
    case 'empty':
      return leaf
    case 'leaf':
      return equalBytes(trie.path, leaf.path) ? leaf : fork(trie, leaf, depth)
    case 'inner':
      return pathBit(leaf.path, depth) === 0
        ? inner(insert(trie.left, leaf, depth + 1), trie.right)
        : inner(trie.left, insert(trie.right, leaf, depth + 1))
  }
}

/** Two different leaves under one node: inner nodes down to the first bit they differ in. */
function fork(a: Leaf, b: Leaf, depth: number): Trie {
  const [bitOfA, bitOfB] = [pathBit(a.path, depth), pathBit(b.path, depth)]
  if (bitOfA !== bitOfB) return bitOfA === 0 ? inner(a, b) : inner(b, a)
  const below = fork(a, b, depth + 1)
  return bitOfA === 0 ? inner(below, EMPTY) : inner(EMPTY, below)
}

function remove(trie: Trie, path: Hash, depth: number): Trie {
  switch (trie.kind) {
    case 'empty':
      return trie
    case 'leaf':
      return equalBytes(trie.path, path) ? EMPTY : trie
    case 'inner': {
      const bit = pathBit(path, depth)
      const before = bit === 0 ? trie.left : trie.right
      const after = remove(before, path, depth + 1)
      if (after === before) return trie
      return bit === 0 ? collapse(after, trie.right) : collapse(trie.left, after)
    }
  }
}

/** The node over two subtrees, or the leaf alone that is left of them. Without this the root would tell of what is gone. */
function collapse(left: Trie, right: Trie): Trie {
  if (left.kind === 'empty' && right.kind !== 'inner') return right
  if (right.kind === 'empty' && left.kind !== 'inner') return left
  return inner(left, right)
}
