/**
 * Chaining values: the inner nodes of an object's BLAKE3 tree, at chunk granularity.
 *
 *                 id = root                      fold: pair neighbours level by level; an odd last one moves up as it is;
 *               ╱          ╲                     the last pair is compressed under the root flag
 *            node           node
 *          ╱     ╲         ╱    ╲
 *       cv[0]   cv[1]   cv[2]  cv[3]             chainingValue: the same inside a chunk, over its 1 KiB leaves,
 *       ╱╲ ╱╲                   ╱╲               whose counters go on from the chunk's place in the object
 *      leaves …                leaves
 *
 * A chunk's own hash is another number: its counters start at 0 and its top node is a root.
 */
import { CairnError } from '@cairn/kernel'
import { compressLeaf, compressParent, compressSubtree } from './compress.ts'
import { DIGEST_BYTES, LEAF_BYTES } from './constants.ts'
import { instantiateLanes, LANES, type LaneKernel } from './lanes.ts'

/** Leaves are copied in and compressed this many bytes at a time. */
const WINDOW_BYTES = 65_536
/** Subtrees are reduced at most this many nodes at a time: the leaves of a 1 MiB chunk. */
const NODES = 1024

/*  kernel memory:  0 ── window ── 64 KiB ── nodes ── 96 KiB ── their parents ── 112 KiB  */
const NODES_AT = WINDOW_BYTES
const PARENTS_AT = NODES_AT + NODES * DIGEST_BYTES

const TWO_POW_32 = 2 ** 32

/**
 * The kernel, made at first use. Its memory is scratch that no call reads before writing, so nothing is carried from
 * one call to the next.
 */
const kernel = (() => {
  let made: LaneKernel | undefined | 'not yet' = 'not yet'
  return (): LaneKernel | undefined => {
    if (made === 'not yet') made = instantiateLanes()
    return made
  }
})()

/**
 * The chaining value of `bytes` as the subtree whose first leaf is the `firstLeaf`-th KiB of an object. `firstLeaf` is
 * a multiple of the chunk size in KiB, and `bytes` at most that chunk: 1 byte to 1 MiB.
 */
export function chainingValue(bytes: Uint8Array, firstLeaf: number): Uint8Array {
  if (bytes.length === 0 || bytes.length > NODES * LEAF_BYTES) {
    throw new CairnError('Malformed', `A chunk has 1 to ${NODES * LEAF_BYTES} bytes; this one has ${bytes.length}.`)
  }
  const lanes = kernel()
  if (lanes === undefined) return compressSubtree(bytes, firstLeaf)
  compressWholeLeaves(lanes, bytes, firstLeaf)
  const whole = Math.floor(bytes.length / LEAF_BYTES)
  if (bytes.length % LEAF_BYTES !== 0) {
    const ragged = compressLeaf(bytes.subarray(whole * LEAF_BYTES), firstLeaf + whole)
    lanes.memory.set(ragged, NODES_AT + whole * DIGEST_BYTES)
  }
  const at = reduce(lanes, Math.ceil(bytes.length / LEAF_BYTES), 1)
  return lanes.memory.slice(at, at + DIGEST_BYTES)
}

/** Groups of four lanes start at multiples of four, so the low word of the counter never carries inside one. */
function compressWholeLeaves(lanes: LaneKernel, bytes: Uint8Array, firstLeaf: number): void {
  const windowLeaves = WINDOW_BYTES / LEAF_BYTES
  const whole = Math.floor(bytes.length / LEAF_BYTES)
  for (let base = 0; base < whole; base += windowLeaves) {
    const count = Math.min(windowLeaves, whole - base)
    lanes.memory.set(bytes.subarray(base * LEAF_BYTES, (base + count) * LEAF_BYTES))
    for (let leaf = 0; leaf < count; leaf += LANES) {
      const counter = firstLeaf + base + leaf
      const output = NODES_AT + (base + leaf) * DIGEST_BYTES
      lanes.compress4(leaf * LEAF_BYTES, 1, counter % TWO_POW_32, Math.floor(counter / TWO_POW_32), output)
    }
  }
}

/** Pairs the first `count` nodes up until `target` (1 or 2) are left; returns where they lie. */
function reduce(lanes: LaneKernel, count: number, target: 1 | 2): number {
  let [from, to] = [NODES_AT, PARENTS_AT]
  let left = count
  while (left > target) {
    const pairs = Math.floor(left / 2)
    for (let pair = 0; pair < pairs; pair += LANES) {
      lanes.compress4(from + pair * 2 * DIGEST_BYTES, 0, 0, 0, to + pair * DIGEST_BYTES)
    }
    if (left % 2 === 1) {
      const odd = from + (left - 1) * DIGEST_BYTES
      lanes.memory.copyWithin(to + pairs * DIGEST_BYTES, odd, odd + DIGEST_BYTES)
    }
    left = Math.ceil(left / 2)
    ;[from, to] = [to, from]
  }
  return from
}

/**
 * The digest of the object whose chunks have these chaining values, given one after the other. At least two are
 * needed: the digest of a single chunk is that chunk's own hash and cannot be made from its chaining value.
 */
export function fold(chainingValues: Uint8Array): Uint8Array {
  const count = chainingValues.length / DIGEST_BYTES
  if (!Number.isInteger(count) || count < 2) {
    throw new CairnError('Malformed', `Folding takes two or more chaining values of ${DIGEST_BYTES} bytes.`)
  }
  const lanes = kernel()
  const reduceTo = lanes === undefined ? reducePlain : reduceInLanes(lanes)
  let nodes = chainingValues
  while (nodes.length > NODES * DIGEST_BYTES) {
    const parents = new Uint8Array(Math.ceil(nodes.length / DIGEST_BYTES / NODES) * DIGEST_BYTES)
    for (let index = 0; index * DIGEST_BYTES < parents.length; index++) {
      const part = nodes.subarray(index * NODES * DIGEST_BYTES, (index + 1) * NODES * DIGEST_BYTES)
      parents.set(reduceTo(part, 1), index * DIGEST_BYTES)
    }
    nodes = parents
  }
  const pair = reduceTo(nodes, 2)
  return compressParent(pair.subarray(0, DIGEST_BYTES), pair.subarray(DIGEST_BYTES), true)
}

type Reduce = (nodes: Uint8Array, target: 1 | 2) => Uint8Array

function reduceInLanes(lanes: LaneKernel): Reduce {
  return (nodes, target) => {
    lanes.memory.set(nodes, NODES_AT)
    const at = reduce(lanes, nodes.length / DIGEST_BYTES, target)
    return lanes.memory.slice(at, at + target * DIGEST_BYTES)
  }
}

function reducePlain(nodes: Uint8Array, target: 1 | 2): Uint8Array {
  let level = nodes
  while (level.length > target * DIGEST_BYTES) {
    const next = new Uint8Array(Math.ceil(level.length / DIGEST_BYTES / 2) * DIGEST_BYTES)
    for (let at = 0; at < next.length; at += DIGEST_BYTES) {
      const left = level.subarray(2 * at, 2 * at + DIGEST_BYTES)
      const right = level.subarray(2 * at + DIGEST_BYTES, 2 * at + 2 * DIGEST_BYTES)
      next.set(right.length === 0 ? left : compressParent(left, right, false), at)
    }
    level = next
  }
  return level
}
