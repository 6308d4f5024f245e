/**
 * An ordered map that never changes: `apply` makes a new one that shares every block it did not touch.
 *
 *     blocks   [a b c] [d e f g] [k m]        sorted, each 1 to 256 entries
 *                          │ put e'
 *     apply    [a b c] [d e'f g] [k m]        only this block and the list of blocks are new
 *
 * So a range read goes on over the map it began with, and a batch of changes is seen whole or not at all.
 */
import type { KvEntry, KvOperation, KvRange } from './kv.ts'

const BLOCK_ENTRIES_MAX = 256

type Block = readonly KvEntry[]

export class SortedMap {
  static readonly EMPTY = new SortedMap([])
  readonly #blocks: readonly Block[]

  private constructor(blocks: readonly Block[]) {
    this.#blocks = blocks
  }

  get(key: Uint8Array): Uint8Array | undefined {
    const block = this.#blocks[this.#blockFor(key)] ?? []
    const entry = block[firstAtLeast(block, key)]
    return entry !== undefined && compare(entry.key, key) === 0 ? entry.value : undefined
  }

  *range({ from, to, limit = Number.POSITIVE_INFINITY }: KvRange): Iterable<KvEntry> {
    let left = limit
    for (let at = from === undefined ? 0 : this.#blockFor(from); at < this.#blocks.length; at += 1) {
      const block = this.#blocks[at] ?? []
      for (let index = from === undefined ? 0 : firstAtLeast(block, from); index < block.length; index += 1) {
        const entry = block[index]
        if (entry === undefined || left <= 0 || (to !== undefined && compare(entry.key, to) >= 0)) return
        left -= 1
        yield entry
      }
    }
  }

  /** The map after these operations, in their order. Keys and values are copied. */
  apply(operations: readonly KvOperation[]): SortedMap {
    const blocks = [...this.#blocks]
    /** Blocks of `blocks` that this call made and may still change. */
    const own = new Map<Block, KvEntry[]>()
    for (const operation of operations) {
      const at = blockFor(blocks, operation.key)
      const shared = blocks[at] ?? []
      const block = own.get(shared) ?? [...shared]
      own.set(block, block)
      change(block, operation)
      blocks.splice(at, 1, ...split(block))
    }
    return new SortedMap(blocks)
  }

  #blockFor(key: Uint8Array): number {
    return blockFor(this.#blocks, key)
  }
}

function change(block: KvEntry[], operation: KvOperation): void {
  const index = firstAtLeast(block, operation.key)
  const there = block[index]
  const replaces = there !== undefined && compare(there.key, operation.key) === 0 ? 1 : 0
  if (operation.tag === 'delete') block.splice(index, replaces)
  else block.splice(index, replaces, { key: copyOf(operation.key), value: copyOf(operation.value) })
}

/** A copy even of a `Buffer`, whose `slice` would share its memory. */
export function copyOf(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes)
}

/** The block itself, its two halves once it is too long, nothing once it is empty. */
function split(block: KvEntry[]): Block[] {
  if (block.length === 0) return []
  if (block.length <= BLOCK_ENTRIES_MAX) return [block]
  const middle = block.length >> 1
  return [block.slice(0, middle), block.slice(middle)]
}

/** The last block whose first key is not above `key`; the first block if there is none. */
function blockFor(blocks: readonly Block[], key: Uint8Array): number {
  let [low, high] = [0, blocks.length]
  while (high - low > 1) {
    const middle = (low + high) >> 1
    const first = blocks[middle]?.[0]
    if (first !== undefined && compare(first.key, key) <= 0) low = middle
    else high = middle
  }
  return low
}

function firstAtLeast(block: Block, key: Uint8Array): number {
  let [low, high] = [0, block.length]
  while (low < high) {
    const middle = (low + high) >> 1
    const entry = block[middle]
    if (entry !== undefined && compare(entry.key, key) < 0) low = middle + 1
    else high = middle
  }
  return low
}

/** In byte order. Keys of a map mostly differ within a few bytes: a call out of the language costs more than the loop. */
function compare(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length)
  for (let at = 0; at < length; at += 1) {
    const difference = (a[at] ?? 0) - (b[at] ?? 0)
    if (difference !== 0) return difference
  }
  return a.length - b.length
}
