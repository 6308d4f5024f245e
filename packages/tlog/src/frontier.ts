/**
 * The right edge of a tree: all that is needed to append to it and to know its root.
 *
 *   size 7 = 4 + 2 + 1        append(leaf 7) joins from the right, like a carry:
 *
 *      ▲                         ▲              ▲                ▲
 *     ╱ ╲   ▲                   ╱ ╲   ▲        ╱ ╲   ▲▲         ╱ ╲
 *    ╱   ╲ ╱ ╲  •              ╱   ╲ ╱ ╲  ••  ╱   ╲ ╱  ╲       ╱   ╲
 *      4    2   1      →         4    2   1+1    4    2+2   →     8
 *
 * One hash per bit set in the size, largest subtree first.
 */
import { CairnError } from '@cairn/kernel'
import { EMPTY_ROOT, HASH_BYTES, type Hash, nodeHash, requireHash } from './hash.ts'
import { completeNodes, foldNodes, type HashReader, type Node, requireSize } from './range.ts'

const SIZE_BYTES = 8

export class Frontier {
  #size: number
  readonly #peaks: Hash[]

  /** The frontier of the empty tree. */
  constructor(size = 0, peaks: readonly Hash[] = []) {
    requireSize(size)
    const expected = completeNodes({ start: 0, end: size }).length
    if (peaks.length !== expected) {
      throw new CairnError('Malformed', `A tree of ${size} leaves has ${expected} peaks, not ${peaks.length}.`)
    }
    for (const peak of peaks) requireHash(peak)
    this.#size = size
    this.#peaks = [...peaks]
  }

  /** The frontier of the first `size` leaves of a tree that `read` gives the hashes of. */
  static async read(size: number, read: HashReader): Promise<Frontier> {
    requireSize(size)
    const peaks: Hash[] = []
    for (const { level, index } of completeNodes({ start: 0, end: size })) peaks.push(await read(level, index))
    return new Frontier(size, peaks)
  }

  /** What `encode` gave. Exactly one byte string stands for each frontier. */
  static decode(bytes: Uint8Array): Frontier {
    if ((bytes.length - SIZE_BYTES) % HASH_BYTES !== 0) {
      throw new CairnError('Malformed', `A frontier is a size and whole hashes; ${bytes.length} bytes are neither.`)
    }
    const size = Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0))
    const peaks: Hash[] = []
    for (let at = SIZE_BYTES; at < bytes.length; at += HASH_BYTES) peaks.push(bytes.slice(at, at + HASH_BYTES))
    return new Frontier(size, peaks)
  }

  get size(): number {
    return this.#size
  }

  /** Adds a leaf. `completed` hears of each subtree this makes complete, the leaf itself first. */
  append(leaf: Hash, completed?: (node: Node, hash: Hash) => void): void {
    requireHash(leaf)
    requireSize(this.#size + 1)
    let hash = leaf
    let level = 0
    let index = this.#size
    completed?.({ level, index }, hash)
    for (; index % 2 === 1; index = (index - 1) / 2) {
      const left = this.#peaks.pop()
      if (left === undefined) throw new CairnError('Internal', 'The frontier has fewer peaks than its size says.')
      hash = nodeHash(left, hash)
      level += 1
      completed?.({ level, index: (index - 1) / 2 }, hash)
    }
    this.#peaks.push(hash)
    this.#size += 1
  }

  root(): Hash {
    return this.#size === 0 ? EMPTY_ROOT : foldNodes(this.#peaks)
  }

  clone(): Frontier {
    return new Frontier(this.#size, this.#peaks)
  }

  /** The size as eight big-endian bytes, then the peaks. */
  encode(): Uint8Array {
    const bytes = new Uint8Array(SIZE_BYTES + this.#peaks.length * HASH_BYTES)
    new DataView(bytes.buffer).setBigUint64(0, BigInt(this.#size))
    this.#peaks.forEach((peak, at) => {
      bytes.set(peak, SIZE_BYTES + at * HASH_BYTES)
    })
    return bytes
  }
}
