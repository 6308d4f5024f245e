/** Ids of one kind in order, out of one segment's side file or list; several are merged into a page. */
import { RECORD_ID_BYTES, TOMBSTONE } from '../journal/format.ts'
import {
  compareEntries,
  ENTRY_BYTES,
  entryFlags,
  entryKey,
  entryKind,
  entryLength,
  entryLsn,
  entryOffset,
  type Pause,
  sortedEntries,
  type Unlisted,
} from './entry-lists.ts'
import type { IndexEntry } from './keydir-core.ts'
import type { Items, SideFile } from './side-file.ts'

/** Stands at an entry, or past the last. */
export interface EntryCursor {
  /** The entry it stands at; `undefined` past the last of the kind. */
  readonly entry: { readonly bytes: Uint8Array; readonly at: number } | undefined
  next(): Promise<void>
}

/** The first key after this id of a kind, or of the kind. */
export interface StartKey {
  readonly bytes: Uint8Array
  /** Whether an entry with this very id comes as well. */
  readonly isIncluded: boolean
}

export function startKey(kind: number, after: Uint8Array | undefined): StartKey {
  const bytes = entryKey(kind, after ?? new Uint8Array(RECORD_ID_BYTES))
  return { bytes, isIncluded: after === undefined }
}

function isPast(bytes: Uint8Array, at: number, { bytes: key, isIncluded }: StartKey): boolean {
  const compared = compareEntries(bytes, at, key, 0)
  return compared > 0 || (compared === 0 && isIncluded)
}

/** In a side file: found by halving, read block by block. */
export class SideFileCursor implements EntryCursor {
  readonly #file: SideFile
  readonly #kind: number
  #block: Items | undefined
  #number = 0
  #item = 0

  private constructor(file: SideFile, kind: number) {
    this.#file = file
    this.#kind = kind
  }

  static async at(file: SideFile, kind: number, start: StartKey): Promise<SideFileCursor> {
    const cursor = new SideFileCursor(file, kind)
    await cursor.#seek(start)
    return cursor
  }

  get entry(): EntryCursor['entry'] {
    const block = this.#block
    if (block === undefined) return undefined
    const at = block.at + this.#item * ENTRY_BYTES
    return entryKind(block.bytes, at) === this.#kind ? { bytes: block.bytes, at } : undefined
  }

  async next(): Promise<void> {
    this.#item += 1
    await this.#settle()
  }

  async #seek(start: StartKey): Promise<void> {
    // The last block that does not begin past the start: what comes after the start begins there, or in the next one.
    let low = 0
    let high = this.#file.entryBlocks
    while (high - low > 1) {
      const middle = (low + high) >>> 1
      const { bytes, at } = await this.#file.entryBlock(middle)
      if (isPast(bytes, at, start)) high = middle
      else low = middle
    }
    if (high === 0) return
    this.#number = low
    this.#block = await this.#file.entryBlock(low)
    const { bytes, at, count } = this.#block
    while (this.#item < count && !isPast(bytes, at + this.#item * ENTRY_BYTES, start)) this.#item += 1
    await this.#settle()
  }

  async #settle(): Promise<void> {
    if (this.#block === undefined || this.#item < this.#block.count) return
    this.#number += 1
    this.#item = 0
    this.#block = this.#number < this.#file.entryBlocks ? await this.#file.entryBlock(this.#number) : undefined
  }
}

/** In memory, sorted when it is opened. */
export class ListCursor implements EntryCursor {
  readonly #bytes: Uint8Array
  readonly #order: Uint32Array
  readonly #kind: number
  #at: number

  private constructor(bytes: Uint8Array, order: Uint32Array, kind: number, at: number) {
    this.#bytes = bytes
    this.#order = order
    this.#kind = kind
    this.#at = at
  }

  static at(list: SortedList, kind: number, start: StartKey): ListCursor {
    const { bytes, order } = list
    let low = 0
    let high = order.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (isPast(bytes, order[middle] ?? 0, start)) high = middle
      else low = middle + 1
    }
    return new ListCursor(bytes, order, kind, low)
  }

  get entry(): EntryCursor['entry'] {
    const at = this.#order[this.#at]
    return at !== undefined && entryKind(this.#bytes, at) === this.#kind ? { bytes: this.#bytes, at } : undefined
  }

  async next(): Promise<void> {
    this.#at += 1
    await Promise.resolve()
  }
}

export interface SortedList {
  readonly bytes: Uint8Array
  readonly order: Uint32Array
}

/** What a list holds now, in order. */
export async function sortList({ entries }: Unlisted, pause: Pause): Promise<SortedList> {
  // What is added from here on lies beyond these.
  const { bytes } = entries
  return { bytes, order: await sortedEntries(bytes, pause) }
}

/** What an entry of this segment says. */
export function listedAt(bytes: Uint8Array, at: number, segment: number): IndexEntry {
  const place = { segment, offset: entryOffset(bytes, at), length: entryLength(bytes, at) }
  return { lsn: entryLsn(bytes, at), isTombstone: (entryFlags(bytes, at) & TOMBSTONE) !== 0, place }
}

/** The entries of all cursors in order of id, each id once. */
export async function* mergeCursors(cursors: readonly EntryCursor[]): AsyncGenerator<Uint8Array> {
  const heap = cursors.filter(({ entry }) => entry !== undefined)
  const isBefore = (a: number, b: number): boolean => {
    const [one, other] = [heap[a]?.entry, heap[b]?.entry]
    if (one === undefined || other === undefined) return one !== undefined
    return compareEntries(one.bytes, one.at, other.bytes, other.at) < 0
  }
  const sink = (from: number): void => {
    for (let at = from; ; ) {
      let least = at
      for (const child of [2 * at + 1, 2 * at + 2]) if (child < heap.length && isBefore(child, least)) least = child
      if (least === at) return
      const [one, other] = [heap[at], heap[least]]
      if (one === undefined || other === undefined) return
      heap[at] = other
      heap[least] = one
      at = least
    }
  }
  for (let at = (heap.length >>> 1) - 1; at >= 0; at -= 1) sink(at)
  let last: Uint8Array | undefined
  for (;;) {
    const [top] = heap
    const entry = top?.entry
    if (top === undefined || entry === undefined) return
    const id = entry.bytes.slice(entry.at, entry.at + RECORD_ID_BYTES)
    if (last === undefined || !id.every((byte, at) => byte === last?.[at])) yield id
    last = id
    await top.next()
    if (top.entry === undefined) {
      const end = heap.pop()
      if (end !== undefined && heap.length > 0) heap[0] = end
    }
    sink(0)
  }
}
