/**
 * Items by path, immutable and structurally shared: a version of the state costs what it changed, and a reader keeps
 * the version it began with.
 *
 *   [ · · ◦ · … ]          16 places, one for each first digit of the path
 *         └── [ · ◦ … ◦ ]  by the second digit, where more than one item has the first
 *
 * The Merkle map proves hashes; this holds what they are hashes of.
 */
import { type Address, equalBytes } from '@cairn/wire'
import type { LiveItem } from './item.ts'

export interface ItemEntry {
  readonly path: Uint8Array
  readonly item: LiveItem
  /** Of the item: asked for whenever the next one names it. */
  readonly hash: Address
}
type Branch = readonly ItemTrie[]
/** Nothing, one item, or a choice of sixteen. */
export type ItemTrie = undefined | ItemEntry | Branch

const NO_CHILDREN: Branch = Array.from({ length: 16 }, () => undefined)

const isBranch = (trie: ItemTrie): trie is Branch => Array.isArray(trie)

function digitAt(path: Uint8Array, depth: number): number {
  const byte = path[depth >> 1] ?? 0
  return depth % 2 === 0 ? byte >> 4 : byte & 0xf
}

export function findItem(trie: ItemTrie, path: Uint8Array): ItemEntry | undefined {
  let at = trie
  for (let depth = 0; isBranch(at); depth++) at = at[digitAt(path, depth)]
  return at !== undefined && equalBytes(at.path, path) ? at : undefined
}

/** The trie with `entry` at `path`, or with nothing there. */
export function putItem(trie: ItemTrie, path: Uint8Array, entry: ItemEntry | undefined, depth = 0): ItemTrie {
  if (isBranch(trie)) {
    const digit = digitAt(path, depth)
    const branch = trie.with(digit, putItem(trie[digit], path, entry, depth + 1))
    return branch.some((child) => child !== undefined) ? branch : undefined
  }
  if (trie === undefined || equalBytes(trie.path, path)) return entry
  if (entry === undefined) return trie
  return putItem(NO_CHILDREN.with(digitAt(trie.path, depth), trie), path, entry, depth)
}

/** One after the other, by path; whoever takes them may pause in between. */
export function* listItems(trie: ItemTrie): Generator<LiveItem> {
  if (isBranch(trie)) for (const child of trie) yield* listItems(child)
  else if (trie !== undefined) yield trie.item
}
