/**
 * What a Merkle map shows of one path: the hashes beside the way down, and what the way ends at.
 *
 * Bytes: one byte saying how it ends (0 empty, 1 leaf), the number of siblings in two big-endian bytes, the
 * siblings from the root down, and for a leaf its path and its value.
 */

import { CairnError } from '@cairn/kernel'
import { equalBytes, HASH_BYTES, type Hash, requireHash } from './hash.ts'
import { EMPTY_MAP_ROOT, mapInnerHash, mapLeafHash, pathBit } from './map-hash.ts'

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
