/** The BLAKE3 compression function on plain numbers: for roots, for the ragged last leaf, and as the kernel's oracle. */
import { BLOCK_BYTES, DIGEST_BYTES, FLAG, IV, LEAF_BYTES, QUARTERS, SCHEDULE } from './constants.ts'

const TWO_POW_32 = 2 ** 32

function quarterRound(state: Uint32Array, quarter: readonly number[], x: number, y: number): void {
  const [ia = 0, ib = 0, ic = 0, id = 0] = quarter
  let a = state[ia] ?? 0
  let b = state[ib] ?? 0
  let c = state[ic] ?? 0
  let d = state[id] ?? 0
  a = (a + b + x) | 0
  d ^= a
  d = (d >>> 16) | (d << 16)
  c = (c + d) | 0
  b ^= c
  b = (b >>> 12) | (b << 20)
  a = (a + b + y) | 0
  d ^= a
  d = (d >>> 8) | (d << 24)
  c = (c + d) | 0
  b ^= c
  b = (b >>> 7) | (b << 25)
  state[ia] = a
  state[ib] = b
  state[ic] = c
  state[id] = d
}

/** One compression; the result is the eight words of a chaining value (or of a digest, under the root flag). */
function compress(
  chaining: ArrayLike<number>,
  block: DataView,
  counter: number,
  length: number,
  flags: number,
): Uint32Array {
  const state = Uint32Array.from([
    ...Array.from(chaining),
    ...IV.slice(0, 4),
    counter % TWO_POW_32,
    Math.floor(counter / TWO_POW_32),
    length,
    flags,
  ])
  for (const schedule of SCHEDULE) {
    for (const [index, quarter] of QUARTERS.entries()) {
      const x = block.getUint32(4 * (schedule[2 * index] ?? 0), true)
      const y = block.getUint32(4 * (schedule[2 * index + 1] ?? 0), true)
      quarterRound(state, quarter, x, y)
    }
  }
  return Uint32Array.from({ length: 8 }, (_, index) => (state[index] ?? 0) ^ (state[index + 8] ?? 0))
}

function littleEndian(words: Uint32Array): Uint8Array {
  const bytes = new Uint8Array(4 * words.length)
  const view = new DataView(bytes.buffer)
  for (const [index, word] of words.entries()) view.setUint32(4 * index, word, true)
  return bytes
}

/** The chaining value of one leaf of at most 1024 bytes at position `counter` of its object. */
export function compressLeaf(leaf: Uint8Array, counter: number): Uint8Array {
  const block = new Uint8Array(BLOCK_BYTES)
  const view = new DataView(block.buffer)
  let chaining: ArrayLike<number> = IV
  for (let offset = 0; offset === 0 || offset < leaf.length; offset += BLOCK_BYTES) {
    const part = leaf.subarray(offset, offset + BLOCK_BYTES)
    block.fill(0).set(part)
    const start = offset === 0 ? FLAG.chunkStart : 0
    const end = offset + BLOCK_BYTES >= leaf.length ? FLAG.chunkEnd : 0
    chaining = compress(chaining, view, counter, part.length, start | end)
  }
  return littleEndian(Uint32Array.from(chaining))
}

/** The node over two chaining values: another chaining value, or the digest of the object if it is the root. */
export function compressParent(left: Uint8Array, right: Uint8Array, isRoot: boolean): Uint8Array {
  const block = new Uint8Array(2 * DIGEST_BYTES)
  block.set(left)
  block.set(right, DIGEST_BYTES)
  const flags = isRoot ? FLAG.parent | FLAG.root : FLAG.parent
  return littleEndian(compress(IV, new DataView(block.buffer), 0, BLOCK_BYTES, flags))
}

/**
 * The chaining value of a subtree by the paper's own recursion: the left side is the largest power of two of leaves
 * that leaves something for the right. Slow and plain; `chaining.ts` must agree with it.
 */
export function compressSubtree(bytes: Uint8Array, counter: number): Uint8Array {
  if (bytes.length <= LEAF_BYTES) return compressLeaf(bytes, counter)
  const leaves = Math.ceil(bytes.length / LEAF_BYTES)
  const leftLeaves = 2 ** Math.floor(Math.log2(leaves - 1))
  const left = compressSubtree(bytes.subarray(0, leftLeaves * LEAF_BYTES), counter)
  const right = compressSubtree(bytes.subarray(leftLeaves * LEAF_BYTES), counter + leftLeaves)
  return compressParent(left, right, false)
}
