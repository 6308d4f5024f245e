/**
 * Where things are in a tree of any size: splits, ranges and the complete subtrees they are made of.
 *
 *   size 7      level 3                    ┐ not complete: no hash of its own is stored
 *               level 2     0              │ [0,4) complete
 *               level 1   0   1   2        │ [4,6) complete
 *               level 0  0 1 2 3 4 5 6     ┘ [6,7) complete
 *
 *   [0,7) = (level 2, index 0) + (level 1, index 2) + (level 0, index 6)
 *
 * A node (level, index) covers the leaves [index · 2^level, (index + 1) · 2^level). Sizes are exact up to
 * 2^53 − 1, so all arithmetic is on numbers and never by shifts, which would cut them to 32 bits.
 */
import { CairnError } from '@cairn/kernel'
import { type Hash, nodeHash } from './hash.ts'

/** Leaves `start` up to, not including, `end`. */
export interface Range {
  readonly start: number
  readonly end: number
}

/** A complete subtree of 2^level leaves. */
export interface Node {
  readonly level: number
  readonly index: number
}

/** Gives the hash of a complete subtree; called only for subtrees inside the tree asked about. */
export type HashReader = (level: number, index: number) => Hash | Promise<Hash>

export function requireSize(size: number): void {
  if (!Number.isSafeInteger(size) || size < 0) {
    throw new CairnError('Malformed', `A tree size is a whole number from 0 to 2^53 − 1, not ${size}.`)
  }
}

export function requireIndex(index: number, size: number): void {
  requireSize(size)
  if (!Number.isSafeInteger(index) || index < 0 || index >= size) {
    throw new CairnError('Malformed', `There is no leaf ${index} in a tree of ${size}; ask for one below its size.`)
  }
}

/** The largest power of two below `size`: where RFC 6962 divides a tree of two leaves or more. */
export function splitPoint(size: number): number {
  let power = 1
  while (power * 2 < size) power *= 2
  return power
}

/** Refuses a range that is no subtree of a tree that reaches `size`: it must start at a multiple of the power of two that holds it. */
export function requireSubtree({ start, end }: Range, size: number): void {
  requireSize(size)
  requireSize(start)
  requireSize(end)
  const width = end - start
  const holder = width < 2 ? width : 2 * splitPoint(width)
  if (width < 0 || end > size || (width > 0 && start % holder !== 0)) {
    throw new CairnError('Malformed', `The leaves ${start} to ${end} are no subtree of a tree of ${size}.`)
  }
}

/** The complete subtrees a subtree is made of, left to right, so largest first. */
export function completeNodes({ start, end }: Range): Node[] {
  const nodes: Node[] = []
  for (let at = start; at < end; ) {
    const { level, width } = largestWithin(end - at)
    nodes.push({ level, index: at / width })
    at += width
  }
  return nodes
}

function largestWithin(length: number): { level: number; width: number } {
  let level = 0
  let width = 1
  while (width * 2 <= length) {
    level += 1
    width *= 2
  }
  return { level, width }
}

/** The hash of a subtree from its complete parts. */
export async function rangeHash(range: Range, read: HashReader): Promise<Hash> {
  const parts: Hash[] = []
  for (const { level, index } of completeNodes(range)) parts.push(await read(level, index))
  return foldNodes(parts)
}

/** Joins the complete subtrees of a range, largest first, into its hash. */
export function foldNodes(parts: readonly Hash[]): Hash {
  return parts.reduceRight((right, left) => nodeHash(left, right))
}
