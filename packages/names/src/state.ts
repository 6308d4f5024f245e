/**
 * What the registry says now: the fold of every payload from genesis on, and a root that proves any part of it.
 *
 *   path of an item = SHA-256(kind ‖ 0x00 ‖ id)
 *   leaf of an item = SHA-256(0x00 ‖ kind ‖ 0x00 ‖ id ‖ 0x00 ‖ 32 bytes: BLAKE3 of the item's canonical JSON)
 *   root            = the Merkle map of tlog over these; `sha256:<hex>` where it is written
 *
 * Kinds and ids contain no zero byte, so the parts cannot be read in two ways.
 */
import { CairnError } from '@cairn/kernel'
import { type Hash, leafHash, type MapProof, MerkleMap, sha256 } from '@cairn/tlog'
import { type Address, digestOf, equalBytes, toHex } from '@cairn/wire'
import { type Item, type ItemKind, isLive, isRelease, itemHash, itemKey, type LiveItem } from './item.ts'
import type { Payload } from './proposal.ts'
import { type RegistryRefusal, refused } from './refusal.ts'
import { SIGNER_SET_ID, type SignerSetItem } from './signer-set.ts'

/*
 * The items by path, immutable and structurally shared: a version of the state costs what it changed, and a reader
 * keeps the version it began with.
 *
 *   [ · · ◦ · … ]          16 places, one for each first digit of the path
 *         └── [ · ◦ … ◦ ]  by the second digit, where more than one item has the first
 *
 * The Merkle map proves hashes; this holds what they are hashes of.
 */

export interface ItemEntry {
  readonly path: Uint8Array
  readonly item: LiveItem
  /** Of the item: asked for whenever the next one names it. */
  readonly hash: Address
}
type TrieBranch = readonly ItemTrie[]
/** Nothing, one item, or a choice of sixteen. */
export type ItemTrie = undefined | ItemEntry | TrieBranch

const NO_CHILDREN: TrieBranch = Array.from({ length: 16 }, () => undefined)

const isBranch = (trie: ItemTrie): trie is TrieBranch => Array.isArray(trie)

function digitAt(path: Uint8Array, depth: number): number {
  const byte = path[depth >> 1] ?? 0
  return depth % 2 === 0 ? byte >> 4 : byte & 0xf
}

function findItem(trie: ItemTrie, path: Uint8Array): ItemEntry | undefined {
  let at = trie
  for (let depth = 0; isBranch(at); depth++) at = at[digitAt(path, depth)]
  return at !== undefined && equalBytes(at.path, path) ? at : undefined
}

/** The trie with `entry` at `path`, or with nothing there. */
function putItem(trie: ItemTrie, path: Uint8Array, entry: ItemEntry | undefined, depth = 0): ItemTrie {
  if (isBranch(trie)) {
    const digit = digitAt(path, depth)
    const branch = trie.with(digit, putItem(trie[digit], path, entry, depth + 1))
    return branch.some((child) => child !== undefined) ? branch : undefined
  }
  if (trie === undefined || equalBytes(trie.path, path)) return entry
  if (entry === undefined) return trie
  return putItem(NO_CHILDREN.with(digitAt(trie.path, depth), trie), path, entry, depth)
}

/** Yields the items by path; the caller may pause in between. */
function* listItems(trie: ItemTrie): Generator<LiveItem> {
  if (isBranch(trie)) for (const child of trie) yield* listItems(child)
  else if (trie !== undefined) yield trie.item
}

type Applied = { readonly kind: 'ok'; readonly state: RegistryState } | RegistryRefusal

/** Immutable: `apply` gives another state, which shares all that did not change. */
export class RegistryState {
  static readonly EMPTY = new RegistryState(MerkleMap.EMPTY, undefined)
  readonly #proofs: MerkleMap
  readonly #items: ItemTrie

  private constructor(proofs: MerkleMap, items: ItemTrie) {
    this.#proofs = proofs
    this.#items = items
  }

  /** The state that holds exactly these items, as a snapshot lists them, or these beside those of another. */
  static of(items: Iterable<LiveItem>, beside = RegistryState.EMPTY): RegistryState {
    let state = beside
    for (const item of items) state = state.#with(item)
    return state
  }

  /** `sha256:<64 hex>`: what an artifact carries. */
  get root(): string {
    return `sha256:${toHex(this.#proofs.root)}`
  }

  /** The signer set in force. */
  get signerSet(): SignerSetItem {
    const item = this.get('signer_set', SIGNER_SET_ID)
    if (item?.kind !== 'signer_set') {
      throw new CairnError('Internal', 'This state has no signer set: it does not begin with genesis.')
    }
    return item
  }

  get(kind: ItemKind, id: string): LiveItem | undefined {
    return findItem(this.#items, statePath(kind, id))?.item
  }

  /** The hash of what stands there: the `prev` of whatever comes next. */
  hashOf(kind: ItemKind, id: string): Address | null {
    return findItem(this.#items, statePath(kind, id))?.hash ?? null
  }

  /** Proves against the root what (kind, id) is, or that it is absent. */
  prove(kind: ItemKind, id: string): MapProof {
    return this.#proofs.prove(statePath(kind, id))
  }

  /** Yields every item, in no particular order; a caller that pauses in between can take a large state. */
  each(): Iterable<LiveItem> {
    return listItems(this.#items)
  }

  /** Returns every item, by kind and id: a snapshot. */
  items(): LiveItem[] {
    const keyed = Array.from(this.each(), (item) => ({ key: itemKey(item), item }))
    return keyed.sort((a, b) => (a.key < b.key ? -1 : 1)).map(({ item }) => item)
  }

  /** Why nothing can ever commit this payload; undefined if that depends on what comes before it. */
  refuseForever({ items }: Payload): RegistryRefusal | undefined {
    const fixed = items.find(({ kind, id }) => isRelease(this.get(kind, id)))
    if (fixed === undefined) return undefined
    const detail = `${fixed.id} is a release: what it means is never changed and never removed. Publish under another name.`
    return refused('release_fixed', detail)
  }

  /** The state after all of the payload's items, or which of them does not follow what stands. */
  apply(payload: Payload): Applied {
    const fixed = this.refuseForever(payload)
    if (fixed !== undefined) return fixed
    const { items } = payload
    const stale = items.find(({ kind, id, prev }) => prev !== this.hashOf(kind, id))
    if (stale !== undefined) return mismatch(stale, this.hashOf(stale.kind, stale.id))
    return { kind: 'ok', state: items.reduce((next: RegistryState, item) => next.#with(item), this) }
  }

  #with(item: Item): RegistryState {
    const path = statePath(item.kind, item.id)
    if (!isLive(item)) return new RegistryState(this.#proofs.delete(path), putItem(this.#items, path, undefined))
    const hash = itemHash(item)
    const leaf = stateLeaf(item.kind, item.id, hash)
    return new RegistryState(this.#proofs.set(path, leaf), putItem(this.#items, path, { path, item, hash }))
  }
}

function mismatch(item: Item, expected: Address | null): RegistryRefusal {
  const found = expected === null ? 'there is no such item' : `it is ${expected}`
  const detail = `${itemKey(item)} has changed: the proposal replaces ${item.prev ?? 'nothing'}, but ${found}. Propose again.`
  return refused('chain_mismatch', detail)
}

/** Where (kind, id) stands in the map. */
export function statePath(kind: ItemKind, id: string): Hash {
  return sha256(new TextEncoder().encode(`${kind}\0${id}`))
}

/** What stands there for an item with this hash. */
export function stateLeaf(kind: ItemKind, id: string, hash: Address): Hash {
  const key = new TextEncoder().encode(`${kind}\0${id}\0`)
  const digest = digestOf(hash)
  const entry = new Uint8Array(key.length + digest.length)
  entry.set(key)
  entry.set(digest, key.length)
  return leafHash(entry)
}

/** The hash that `sha256:<64 hex>` spells. */
export function rootHash(text: string): Hash {
  const digits = text.slice('sha256:'.length)
  return Uint8Array.from({ length: digits.length / 2 }, (_, at) =>
    Number.parseInt(digits.slice(2 * at, 2 * at + 2), 16),
  )
}
