/**
 * A directory as an ordinary object, decoded whole or by single entries: deterministic DAG-CBOR
 *
 *   {v: 1, kind: "tree", entries: [{id, kind: "file" | "tree", name, size, type?} …]}      sorted by UTF-8 bytes of name
 *   {v: 2, kind: "tree", entries: [… | {id, kind: "file", name, size, x: true} | {kind: "link", name, target}]}
 *
 * Two directories with the same content have the same bytes, and therefore the same address: version 2 is for those that
 * have an executable file or a link, and for no others.
 */
import { CairnError } from '@cairn/kernel'
import { type Address, addressFromDigest, digestOf } from './address.ts'
import { compareBytes } from './bytes.ts'
import { decodeCbor, encodeCbor } from './cbor.ts'

/*
 * Single entries of a large directory, without decoding the others.
 *
 *     bytes ── treeOffsets, once, on a worker thread ──▶ where each entry stands ──▶ entryNamed: halves them, some 20 times
 *
 * Entries are sorted by the UTF-8 bytes of their names, and each is one CBOR item: put alone into the frame of its
 * directory it is a directory of one, which `decodeTree` reads as strictly as any other.
 */

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
  const [entry] = parseTree(alone).entries
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

export type TreeEntry = TreeFile | TreeDirectory | TreeLink
export type TreeObject = TreeFile | TreeDirectory

interface ObjectEntry {
  readonly name: string
  readonly id: Address
  /** Bytes of the object at `id`. */
  readonly size: number
  /** Media type, where the one who stored it knew one. */
  readonly type?: string
}

export interface TreeFile extends ObjectEntry {
  readonly kind: 'file'
  readonly executable?: true
}

export interface TreeDirectory extends ObjectEntry {
  readonly kind: 'tree'
}

export interface TreeLink {
  readonly name: string
  readonly kind: 'link'
  /** A path from the directory of the link; `parseLinkTarget` says which there are. */
  readonly target: string
}

/** Where a link leads: so many directories up, then down by these names. */
export interface LinkPath {
  readonly up: number
  readonly names: readonly string[]
}

/** What Linux allows a link to hold. */
const TARGET_BYTES_MAX = 4095

/**
 * The way of a link; `Malformed` unless it is relative and every `..` comes before all names. A target of this form
 * that does not begin above the root of its tree ends inside it, whatever other links it meets.
 */
export function parseLinkTarget(target: string): LinkPath {
  const refused = (problem: string): CairnError => malformed(`the link target ${JSON.stringify(target)} ${problem}`)
  if (target === '') throw refused('is empty')
  if (target.startsWith('/')) throw refused('is absolute')
  if (target.includes('\0') || !target.isWellFormed()) throw refused('contains NUL or a lone surrogate')
  if (new TextEncoder().encode(target).length > TARGET_BYTES_MAX) throw refused(`exceeds ${TARGET_BYTES_MAX} bytes`)
  const segments = target.split('/')
  const isName = (segment: string): boolean => segment !== '..'
  const first = segments.findIndex(isName)
  const up = first < 0 ? segments.length : first
  const below = segments.slice(up)
  if (!below.every(isName)) throw refused('has ".." after a name')
  return { up, names: below.filter((segment) => segment !== '' && segment !== '.') }
}

/** Bounds what is decoded at once; a larger directory belongs in sub-directories. */
export const MAX_TREE_BYTES = 64 * 1_048_576
type TreeVersion = 1 | 2

/** What each tree begins with, up to the head of its list of entries. */
const TREE_STARTS = [1, 2].map((v) => encodeCbor({ v, kind: 'tree', entries: [] }).subarray(0, -1))

/** Whether an object that begins like this may be a directory; an object that begins otherwise is none. */
export function mayBeTree(start: Uint8Array): boolean {
  return TREE_STARTS.some((expected) => {
    const length = Math.min(expected.length, start.length)
    return compareBytes(expected.subarray(0, length), start.subarray(0, length)) === 0
  })
}

/** Version 1 wherever it suffices, so that the addresses of plain directories stay what they were. */
function versionFor(entries: readonly TreeEntry[]): TreeVersion {
  return entries.some((entry) => entry.kind === 'link' || (entry.kind === 'file' && entry.executable)) ? 2 : 1
}

/** The bytes of a directory; the entries may come in any order. */
export function encodeTree(entries: readonly TreeEntry[]): Uint8Array {
  const keyed = entries.map((entry) => ({ key: nameBytes(entry.name), entry }))
  keyed.sort((a, b) => compareBytes(a.key, b.key))
  const v = versionFor(entries)
  const bytes = encodeCbor({ v, kind: 'tree', entries: keyed.map(({ entry }) => writeEntry(entry)) })
  assertAscending(keyed.map(({ entry }) => entry))
  if (bytes.length > MAX_TREE_BYTES) throw tooLarge(bytes.length)
  return bytes
}

/** The entries of a directory, in order; anything but the one encoding of a valid directory is refused. */
export function decodeTree(bytes: Uint8Array): readonly TreeEntry[] {
  const { version, entries } = parseTree(bytes)
  if (version !== versionFor(entries)) throw malformed('nothing in it needs version 2')
  return entries
}

/** The same, but of a version that its entries may not need: those of a part of a directory. */
function parseTree(bytes: Uint8Array): { readonly version: TreeVersion; readonly entries: readonly TreeEntry[] } {
  if (bytes.length > MAX_TREE_BYTES) throw tooLarge(bytes.length)
  const tree = record(decodeCbor(bytes), 'the directory', ['entries', 'kind', 'v'])
  const version = tree['v']
  if ((version !== 1 && version !== 2) || tree['kind'] !== 'tree') throw malformed('it is not a tree of version 1 or 2')
  if (!Array.isArray(tree['entries'])) throw malformed('its entries are not a list')
  const entries = tree['entries'].map((entry: unknown) => readEntry(entry, version))
  assertAscending(entries)
  return { version, entries }
}

function writeEntry(entry: TreeEntry): Record<string, unknown> {
  if (entry.kind === 'link') {
    parseLinkTarget(entry.target)
    return { name: entry.name, kind: 'link', target: entry.target }
  }
  assertSize(entry.size)
  if (entry.type !== undefined) assertType(entry.type)
  const { name, kind, size, type } = entry
  const isExecutable = entry.kind === 'file' && entry.executable === true
  const written = { name, kind, size, id: digestOf(entry.id), ...(type === undefined ? {} : { type }) }
  return isExecutable ? { ...written, x: true } : written
}

function readEntry(value: unknown, version: TreeVersion): TreeEntry {
  const isKind = (kind: string): boolean =>
    version === 2 && typeof value === 'object' && value !== null && 'kind' in value && value.kind === kind
  if (isKind('link')) return readLink(value)
  const hasType = typeof value === 'object' && value !== null && 'type' in value
  const hasX = isKind('file') && typeof value === 'object' && value !== null && 'x' in value
  const keys = ['id', 'kind', 'name', 'size', ...(hasType ? ['type'] : []), ...(hasX ? ['x'] : [])]
  const { name, kind, id, size, type, x } = record(value, 'an entry', keys)
  if (typeof name !== 'string') throw malformed('a name is not a string')
  nameBytes(name)
  if (kind !== 'file' && kind !== 'tree') throw malformed(`${JSON.stringify(name)} is neither a file nor a tree`)
  if (!(id instanceof Uint8Array)) throw malformed(`the id of ${JSON.stringify(name)} is not a byte string`)
  if (hasX && x !== true) throw malformed(`x of ${JSON.stringify(name)} is not true; leave it out instead`)
  const entry = {
    name,
    id: addressFromDigest(id),
    size: assertSize(size),
    ...(hasType ? { type: assertType(type) } : {}),
  }
  if (kind === 'tree') return { ...entry, kind }
  return hasX ? { ...entry, kind, executable: true } : { ...entry, kind }
}

function readLink(value: unknown): TreeLink {
  const { name, target } = record(value, 'a link', ['kind', 'name', 'target'])
  if (typeof name !== 'string' || typeof target !== 'string') throw malformed('a name or a target is not a string')
  nameBytes(name)
  parseLinkTarget(target)
  return { name, kind: 'link', target }
}

/** The UTF-8 bytes of a name, by which entries are sorted; refuses names that could not be a single path segment. */
function nameBytes(name: string): Uint8Array {
  if (name === '') throw malformed('a name is empty')
  if (name === '.' || name === '..') throw malformed(`the name "${name}" means another directory`)
  if (/[/\0]/.test(name)) throw malformed(`the name ${JSON.stringify(name)} contains "/" or NUL`)
  if (!name.isWellFormed()) throw malformed(`the name ${JSON.stringify(name)} contains a lone surrogate`)
  return new TextEncoder().encode(name)
}

function assertAscending(entries: readonly TreeEntry[]): void {
  let previous: Uint8Array | undefined
  for (const { name } of entries) {
    const current = nameBytes(name)
    const order = previous === undefined ? -1 : compareBytes(previous, current)
    if (order === 0) throw malformed(`the name ${JSON.stringify(name)} appears twice`)
    if (order > 0) throw malformed(`${JSON.stringify(name)} is out of order; names are sorted by their UTF-8 bytes`)
    previous = current
  }
}

function assertSize(size: unknown): number {
  if (typeof size === 'number' && Number.isSafeInteger(size) && size >= 0) return size
  throw malformed(`a size is ${String(size)} instead of a whole number of bytes`)
}

/** Printable ASCII only: it may end up in a response header. */
function assertType(type: unknown): string {
  if (typeof type === 'string' && /^[\x20-\x7e]{1,255}$/.test(type)) return type
  throw malformed('a type is not 1 to 255 printable ASCII characters')
}

function record(value: unknown, what: string, keys: readonly string[]): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || value instanceof Uint8Array) {
    throw malformed(`${what} is not a map`)
  }
  const found = Object.keys(value).sort()
  if (found.join() !== keys.join()) throw malformed(`${what} has the keys ${found.join(', ')}, not ${keys.join(', ')}`)
  return { ...value }
}

function malformed(problem: string): CairnError {
  return new CairnError('Malformed', `This is not a directory: ${problem}.`)
}

function tooLarge(length: number): CairnError {
  return new CairnError(
    'TooLarge',
    `A directory has at most ${MAX_TREE_BYTES} bytes; this one has ${length}. Split it.`,
  )
}
