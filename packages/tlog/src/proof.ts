/**
 * Proofs that a leaf is in a tree and that one tree is the beginning of another (RFC 6962, section 2.1).
 *
 *   inclusion of leaf 2 in 7:          consistency from 3 to 7:
 *
 *            root                               root
 *          ╱      ╲                           ╱      ╲
 *        ○         ③                        ○         ④            ①②③④ in the order sent
 *      ╱   ╲      ╱ ╲                     ╱   ╲      ╱ ╲
 *     ②     ○    ○   6                   ③     ○    ○   6          the tree of 3 is ③ + ①: ① is its last
 *    ╱ ╲   ╱ ╲  ╱ ╲                     ╱ ╲   ╱ ╲  ╱ ╲             complete part, and ①②③④ give the tree of 7
 *   0   1 2★ ① 4   5                   0   1 ①  ② 4   5
 *
 * Both also work for a subtree [start, end) in place of the tree of `from` leaves, which is the subtree [0, from).
 */
import { CairnError } from '@cairn/kernel'
import { EMPTY_ROOT, equalBytes, type Hash, nodeHash, requireHash } from './hash.ts'
import { type HashReader, type Range, rangeHash, requireIndex, requireSubtree, splitPoint } from './range.ts'

/** The proof that leaf `index` is in the tree of `size` leaves: siblings from the leaf up. */
export async function inclusionProof(index: number, size: number, read: HashReader): Promise<Hash[]> {
  requireIndex(index, size)
  return await hashes(inclusionRanges(index, { start: 0, end: size }), read)
}

/** The proof that the tree of `from` leaves, at least one, is the beginning of the tree of `to`. */
export async function consistencyProof(from: number, to: number, read: HashReader): Promise<Hash[]> {
  refuseEmpty(from)
  return await subtreeConsistencyProof({ start: 0, end: from }, to, read)
}

/** The proof that a subtree is part of the tree of `size` leaves. Empty for an empty subtree, which says nothing. */
export async function subtreeConsistencyProof(subtree: Range, size: number, read: HashReader): Promise<Hash[]> {
  requireSubtree(subtree, size)
  if (subtree.start === subtree.end) return []
  const { last, siblings } = consistencyPath(subtree, size)
  return await hashes(last === undefined ? siblings : [last, ...siblings], read)
}

export interface InclusionClaim {
  readonly index: number
  readonly size: number
  readonly leaf: Hash
  readonly root: Hash
  readonly proof: readonly Hash[]
}

/** Returns if `leaf` is at `index` in the tree of `size` leaves with this root; throws `Integrity` or `Malformed` otherwise. */
export function verifyInclusion({ index, size, leaf, root, proof }: InclusionClaim): void {
  verifySubtreeInclusion({ index, start: 0, end: size, leaf, root, proof })
}

export interface SubtreeInclusionClaim extends Range {
  readonly index: number
  readonly leaf: Hash
  readonly root: Hash
  readonly proof: readonly Hash[]
}

/** Like `verifyInclusion`, for a leaf of the subtree [start, end) whose root is given. */
export function verifySubtreeInclusion({ index, start, end, leaf, root, proof }: SubtreeInclusionClaim): void {
  requireSubtree({ start, end }, end)
  requireIndex(index, end)
  requireHash(leaf)
  if (index < start) throw new CairnError('Malformed', `Leaf ${index} is not in the subtree that starts at ${start}.`)
  const siblings = inclusionRanges(index, { start, end })
  if (proof.length !== siblings.length) throw unproved(`needs ${siblings.length} hashes, not ${proof.length}`)
  let hash = leaf
  proof.forEach((sibling, at) => {
    const left = (siblings[at]?.start ?? 0) < index
    hash = left ? nodeHash(sibling, hash) : nodeHash(hash, sibling)
  })
  if (!equalBytes(hash, root)) throw unproved('leads to another root')
}

export interface ConsistencyClaim {
  readonly from: number
  readonly to: number
  readonly fromRoot: Hash
  readonly toRoot: Hash
  readonly proof: readonly Hash[]
}

/** Returns if the tree of `from` leaves is the beginning of the tree of `to`; throws `Integrity` or `Malformed` otherwise. */
export function verifyConsistency({ from, to, fromRoot, toRoot, proof }: ConsistencyClaim): void {
  refuseEmpty(from)
  verifySubtreeConsistency({ start: 0, end: from, size: to, subtreeRoot: fromRoot, root: toRoot, proof })
}

export interface SubtreeConsistencyClaim extends Range {
  readonly size: number
  readonly subtreeRoot: Hash
  readonly root: Hash
  readonly proof: readonly Hash[]
}

/** Like `verifyConsistency`, for the subtree [start, end) of the tree of `size` leaves. */
export function verifySubtreeConsistency(claim: SubtreeConsistencyClaim): void {
  const { start, end, size, subtreeRoot, root, proof } = claim
  requireSubtree({ start, end }, size)
  if (start === end) {
    if (proof.length > 0 || !equalBytes(subtreeRoot, EMPTY_ROOT)) throw unproved('claims more than an empty subtree')
    return
  }
  const { last, siblings } = consistencyPath({ start, end }, size)
  const needed = siblings.length + (last === undefined ? 0 : 1)
  if (proof.length !== needed) throw unproved(`needs ${needed} hashes, not ${proof.length}`)
  let [subtreeHash = subtreeRoot] = last === undefined ? [] : proof
  let treeHash = subtreeHash
  proof.slice(needed - siblings.length).forEach((hash, at) => {
    const from = siblings[at]?.start ?? size
    const right = from >= end
    // Whatever lies inside the subtree rebuilds it; outside of it, only the tree grows.
    if (!right && from >= start) subtreeHash = nodeHash(hash, subtreeHash)
    treeHash = right ? nodeHash(treeHash, hash) : nodeHash(hash, treeHash)
  })
  if (!equalBytes(subtreeHash, subtreeRoot)) throw unproved('leads to another root of the smaller tree')
  if (!equalBytes(treeHash, root)) throw unproved('leads to another root of the larger tree')
}

/** Siblings on the way from leaf `index` to the top of `subtree`, lowest first. */
function inclusionRanges(index: number, { start, end }: Range): Range[] {
  const ranges: Range[] = []
  while (end - start > 1) {
    const middle = start + splitPoint(end - start)
    if (index < middle) {
      ranges.push({ start: middle, end })
      end = middle
    } else {
      ranges.push({ start, end: middle })
      start = middle
    }
  }
  return ranges.reverse()
}

/**
 * The way from a subtree to the top of the tree, lowest sibling first. A subtree that is no node of the
 * tree is rebuilt from its own parts: `last` is its last complete one, the others are among the siblings.
 */
function consistencyPath(subtree: Range, size: number): { last: Range | undefined; siblings: Range[] } {
  const siblings: Range[] = []
  let low = 0
  let high = size
  while (low < subtree.start || subtree.end < high) {
    const middle = low + splitPoint(high - low)
    if (subtree.end <= middle) {
      siblings.push({ start: middle, end: high })
      high = middle
    } else {
      siblings.push({ start: low, end: middle })
      low = middle
    }
  }
  return { last: low === subtree.start ? undefined : { start: low, end: high }, siblings: siblings.reverse() }
}

async function hashes(ranges: readonly Range[], read: HashReader): Promise<Hash[]> {
  const found: Hash[] = []
  for (const range of ranges) found.push(await rangeHash(range, read))
  return found
}

/** Every tree begins with the empty one: a proof of it would look like one and show nothing of the larger root. */
function refuseEmpty(from: number): void {
  if (from === 0) throw new CairnError('Malformed', 'Nothing can be proved from a tree without leaves; start from one.')
}

function unproved(why: string): CairnError {
  return new CairnError('Integrity', `The proof ${why}: it does not show what it claims. Trust neither side of it.`)
}
