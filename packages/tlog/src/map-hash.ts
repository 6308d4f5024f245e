/**
 * What the nodes of a Merkle map hash to.
 *
 *   empty = 32 zero bytes
 *   leaf  = SHA-256(0x02 ‖ path ‖ leaf)
 *   inner = SHA-256(0x03 ‖ left ‖ right)
 *
 * 0x02 and 0x03 keep these apart from each other and from the log's leaves (0x00) and nodes (0x01). A leaf
 * hashes its whole path, so it means the same at whatever depth it stands.
 */

import { HASH_BYTES, type Hash, pairHash } from './hash.ts'

const LEAF_TAG = 0x02
const INNER_TAG = 0x03

/** What stands for a subtree without leaves, and so the root of an empty map. */
export const EMPTY_MAP_ROOT: Hash = new Uint8Array(HASH_BYTES)

export function mapLeafHash(path: Hash, leaf: Hash): Hash {
  return pairHash(LEAF_TAG, path, leaf)
}

export function mapInnerHash(left: Hash, right: Hash): Hash {
  return pairHash(INNER_TAG, left, right)
}

/** Bit `depth` of a path, the most significant bit of its first byte first. */
export function pathBit(path: Hash, depth: number): 0 | 1 {
  const byte = path[depth >> 3] ?? 0
  return ((byte >> (7 - (depth & 7))) & 1) === 1 ? 1 : 0
}
