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
 * proves both presence and absence.
 */
import { CairnError } from '@cairn/kernel'
import { equalBytes, HASH_BYTES, type Hash, pairHash, requireHash } from './hash.ts'

/*
 * The proof of one path: the hashes beside the way down, and what the way ends at.
 *
 * Bytes: one byte saying how it ends (0 empty, 1 leaf), the number of siblings in two big-endian bytes, the
 * siblings from the root down, and for a leaf its path and its value.
 */

/** Where the way down a path ends: nowhere, or at a leaf, its own or the only other one that starts alike. */
export type MapEnd = { readonly kind: 'empty' } | { readonly kind: 'leaf'; readonly path: Hash; readonly leaf: Hash }

export interface MapProof {
  /** From the root down. */
  readonly siblings: readonly Hash[]
  readonly end: MapEnd
}

/** A path has 256 bits; no way down is longer. */
const MAX_SIBLINGS = 8 * HASH_BYTES
const HEADER_BYTES = 3

/** The leaf at `path` in the map with this root, or undefined if it has none there; throws `Integrity` if the proof does not show it. */
export function verifyMapProof(root: Hash, path: Hash, proof: MapProof): Hash | undefined {
  requireHash(path)
  const { siblings, end } = proof
  if (siblings.length > MAX_SIBLINGS) throw unproved('goes deeper than a path is long')
  const lowest = siblings.at(-1)
  // A node over one leaf and nothing, or over nothing at all, is not made: it would be another spelling of the same map.
  if (lowest !== undefined && equalBytes(lowest, EMPTY_MAP_ROOT)) throw unproved('ends beside an empty subtree')
  if (!equalBytes(rootOf(path, proof), root)) throw unproved('leads to another root')
  if (end.kind === 'empty') return undefined
  if (equalBytes(end.path, path)) return end.leaf
  for (let depth = 0; depth < siblings.length; depth += 1) {
    if (pathBit(end.path, depth) !== pathBit(path, depth)) throw unproved('ends at a leaf that belongs elsewhere')
  }
  return undefined
}

function rootOf(path: Hash, { siblings, end }: MapProof): Hash {
  const start = end.kind === 'empty' ? EMPTY_MAP_ROOT : mapLeafHash(end.path, end.leaf)
  return siblings.reduceRight(
    (hash, sibling, depth) => (pathBit(path, depth) === 0 ? mapInnerHash(hash, sibling) : mapInnerHash(sibling, hash)),
    start,
  )
}

export function encodeMapProof({ siblings, end }: MapProof): Uint8Array {
  if (siblings.length > MAX_SIBLINGS) throw malformed(`has ${siblings.length} siblings`)
  const hashes = end.kind === 'empty' ? siblings : [...siblings, end.path, end.leaf]
  const bytes = new Uint8Array(HEADER_BYTES + hashes.length * HASH_BYTES)
  bytes[0] = end.kind === 'empty' ? 0 : 1
  new DataView(bytes.buffer).setUint16(1, siblings.length)
  hashes.forEach((hash, at) => {
    requireHash(hash)
    bytes.set(hash, HEADER_BYTES + at * HASH_BYTES)
  })
  return bytes
}

/** What `encodeMapProof` gave; exactly one byte string stands for each proof. */
export function decodeMapProof(bytes: Uint8Array): MapProof {
  if (bytes.length < HEADER_BYTES) throw malformed('is too short')
  const kind = bytes[0]
  const count = new DataView(bytes.buffer, bytes.byteOffset).getUint16(1)
  if (kind !== 0 && kind !== 1) throw malformed('ends at neither nothing nor a leaf')
  if (count > MAX_SIBLINGS) throw malformed(`has ${count} siblings`)
  const total = count + 2 * kind
  if (bytes.length !== HEADER_BYTES + total * HASH_BYTES) throw malformed('is not as long as it says')
  const hashAt = (at: number) => bytes.slice(HEADER_BYTES + at * HASH_BYTES, HEADER_BYTES + (at + 1) * HASH_BYTES)
  const siblings = Array.from({ length: count }, (_, at) => hashAt(at))
  return {
    siblings,
    end: kind === 0 ? { kind: 'empty' } : { kind: 'leaf', path: hashAt(count), leaf: hashAt(count + 1) },
  }
}

function unproved(why: string): CairnError {
  return new CairnError('Integrity', `The map proof ${why}: it shows neither presence nor absence.`)
}

function malformed(why: string): CairnError {
  return new CairnError(
    'Malformed',
    `The map proof ${why}; at most ${MAX_SIBLINGS} siblings and their end are allowed.`,
  )
}

/*
 * The hashes of the nodes.
 *
 *   empty = 32 zero bytes
 *   leaf  = SHA-256(0x02 ‖ path ‖ leaf)
 *   inner = SHA-256(0x03 ‖ left ‖ right)
 *
 * 0x02 and 0x03 keep these apart from each other and from the log's leaves (0x00) and nodes (0x01). A leaf
 * hashes its whole path, so it means the same at whatever depth it stands.
 */

const LEAF_TAG = 0x02
const INNER_TAG = 0x03

/** What stands for a subtree without leaves, and so the root of an empty map. */
export const EMPTY_MAP_ROOT: Hash = new Uint8Array(HASH_BYTES)

function mapLeafHash(path: Hash, leaf: Hash): Hash {
  return pairHash(LEAF_TAG, path, leaf)
}

function mapInnerHash(left: Hash, right: Hash): Hash {
  return pairHash(INNER_TAG, left, right)
}

/** Bit `depth` of a path, the most significant bit of its first byte first. */
function pathBit(path: Hash, depth: number): 0 | 1 {
  const byte = path[depth >> 3] ?? 0
  return ((byte >> (7 - (depth & 7))) & 1) === 1 ? 1 : 0
}

interface Empty {
  readonly kind: 'empty'
}

interface MapLeaf {
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

type Trie = Empty | MapLeaf | Inner

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
    const added: MapLeaf = { kind: 'leaf', path: path.slice(), leaf: leaf.slice(), hash: undefined }
    return new MerkleMap(insert(this.#trie, added, 0))
  }

  /** The map without `path`; the same map where there was nothing. */
  delete(path: Hash): MerkleMap {
    requireHash(path)
    const trie = remove(this.#trie, path, 0)
    return trie === this.#trie ? this : new MerkleMap(trie)
  }

  /** Proves against the root the leaf at `path`, or that there is none. */
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

function insert(trie: Trie, leaf: MapLeaf, depth: number): Trie {
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
function fork(a: MapLeaf, b: MapLeaf, depth: number): Trie {
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
