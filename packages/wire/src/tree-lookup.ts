/**
 * Single entries of a large directory, without decoding the others.
 *
 *     bytes ── treeOffsets, once, on a worker thread ──▶ where each entry stands ──▶ entryNamed: halves them, some 20 times
 *
 * Entries are sorted by the UTF-8 bytes of their names, and each is one CBOR item: put alone into the frame of its
 * directory it is a directory of one, which `decodeTree` reads as strictly as any other.
 */
import { CairnError } from '@cairn/kernel'
import { compareBytes } from './bytes.ts'
import { decodeTree, type TreeEntry } from './tree.ts'

const ENTRIES = new TextEncoder().encode('entries')
const NAME = new TextEncoder().encode('name')
const ARRAY = 4
/** The head of an array of one item. */
const ARRAY_OF_ONE = 0x81

/** Where each entry begins, and last where the list ends; anything but a valid directory is refused, as by `decodeTree`. */
export function treeOffsets(bytes: Uint8Array): Uint32Array<ArrayBuffer> {
  const count = decodeTree(bytes).length
  const offsets = new Uint32Array(count + 1)
  let at = itemsAt(bytes, listAt(bytes))
  for (let entry = 0; entry < count; entry += 1) {
    offsets[entry] = at
    at = skipItem(bytes, at)
  }
  offsets[count] = at
  return offsets
}

/** The entry of this name; `offsets` must be those of these bytes. */
export function entryNamed(bytes: Uint8Array, offsets: Uint32Array, name: string): TreeEntry | undefined {
  const wanted = new TextEncoder().encode(name)
  const count = offsets.length - 1
  const list = count === 0 ? 0 : listAt(bytes)
  let [first, end] = [0, count]
  while (first < end) {
    const middle = (first + end) >>> 1
    const order = compareBytes(nameAt(bytes, offsets[middle] ?? 0), wanted)
    if (order === 0) return entryAt(bytes, offsets, list, middle)
    if (order < 0) first = middle + 1
    else end = middle
  }
  return undefined
}

/** The UTF-8 bytes of the name of the entry that begins here. */
function nameAt(bytes: Uint8Array, start: number): Uint8Array {
  for (let at = itemsAt(bytes, start); ; ) {
    const value = skipItem(bytes, at)
    const end = skipItem(bytes, value)
    if (isText(bytes, at, NAME)) return bytes.subarray(itemsAt(bytes, value), end)
    at = end
  }
}

/** Whether the item that begins here is this short text. */
function isText(bytes: Uint8Array, at: number, text: Uint8Array): boolean {
  return bytes[at] === 0x60 + text.length && text.every((byte, place) => bytes[at + 1 + place] === byte)
}

function entryAt(bytes: Uint8Array, offsets: Uint32Array, list: number, index: number): TreeEntry {
  const item = bytes.subarray(offsets[index], offsets[index + 1])
  const rest = bytes.subarray(offsets.at(-1))
  const alone = new Uint8Array(list + 1 + item.length + rest.length)
  alone.set(bytes.subarray(0, list))
  alone[list] = ARRAY_OF_ONE
  alone.set(item, list + 1)
  alone.set(rest, list + 1 + item.length)
  const [entry] = decodeTree(alone)
  if (entry === undefined) throw new CairnError('Internal', 'An entry of a directory has gone.')
  return entry
}

/** Where the list of entries begins, in a map that has one. */
function listAt(bytes: Uint8Array): number {
  let at = 1
  for (;;) {
    const value = skipItem(bytes, at)
    if (isText(bytes, at, ENTRIES)) return value
    at = skipItem(bytes, value)
  }
}

/** After the head of an item: where its content begins. */
function itemsAt(bytes: Uint8Array, at: number): number {
  const size = (bytes[at] ?? 0) & 0x1f
  return at + 1 + (size < 24 ? 0 : 2 ** (size - 24))
}

/** Where the item that begins here ends. */
function skipItem(bytes: Uint8Array, start: number): number {
  let at = start
  for (let left = 1; left > 0; left -= 1) {
    if (at >= bytes.length) throw new CairnError('Malformed', 'This is not a directory: it ends too early.')
    const kind = (bytes[at] ?? 0) >>> 5
    const argument = argumentAt(bytes, at)
    at = itemsAt(bytes, at)
    // Byte and text strings; arrays, maps and tags have items after their head; all else is its head.
    if (kind === 2 || kind === 3) at += argument
    else if (kind === ARRAY) left += argument
    else if (kind === 5) left += 2 * argument
    else if (kind === 6) left += 1
  }
  return at
}

function argumentAt(bytes: Uint8Array, at: number): number {
  const size = (bytes[at] ?? 0) & 0x1f
  if (size < 24) return size
  let value = 0
  for (let place = 0; place < 2 ** (size - 24); place += 1) value = value * 256 + (bytes[at + 1 + place] ?? 0)
  return value
}
