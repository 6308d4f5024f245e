/**
 * A directory as an ordinary object: deterministic DAG-CBOR
 *
 *   {v: 1, kind: "tree", entries: [{id, kind: "file" | "tree", name, size, type?} …]}      sorted by UTF-8 bytes of name
 *
 * Two directories with the same content have the same bytes, and therefore the same address.
 */
import { CairnError } from '@cairn/kernel'
import { type Address, addressFromDigest, digestOf } from './address.ts'
import { compareBytes } from './bytes.ts'
import { decodeCbor, encodeCbor } from './cbor.ts'

export interface TreeEntry {
  readonly name: string
  readonly kind: 'file' | 'tree'
  readonly id: Address
  /** Bytes of the object at `id`. */
  readonly size: number
  /** Media type, where the one who stored it knew one. */
  readonly type?: string
}

/** Bounds what is decoded at once; a larger directory belongs in sub-directories. */
export const MAX_TREE_BYTES = 64 * 1_048_576
const VERSION = 1

/** The bytes of a directory; the entries may come in any order. */
export function encodeTree(entries: readonly TreeEntry[]): Uint8Array {
  const keyed = entries.map((entry) => ({ key: nameBytes(entry.name), entry }))
  keyed.sort((a, b) => compareBytes(a.key, b.key))
  const bytes = encodeCbor({ v: VERSION, kind: 'tree', entries: keyed.map(({ entry }) => writeEntry(entry)) })
  assertAscending(keyed.map(({ entry }) => entry))
  if (bytes.length > MAX_TREE_BYTES) throw tooLarge(bytes.length)
  return bytes
}

/** The entries of a directory, in order; anything but the one encoding of a valid directory is refused. */
export function decodeTree(bytes: Uint8Array): readonly TreeEntry[] {
  if (bytes.length > MAX_TREE_BYTES) throw tooLarge(bytes.length)
  const tree = record(decodeCbor(bytes), 'the directory', ['entries', 'kind', 'v'])
  if (tree['v'] !== VERSION || tree['kind'] !== 'tree') throw malformed(`it is not a tree of version ${VERSION}`)
  if (!Array.isArray(tree['entries'])) throw malformed('its entries are not a list')
  const entries = tree['entries'].map(readEntry)
  assertAscending(entries)
  return entries
}

function writeEntry(entry: TreeEntry): Record<string, unknown> {
  assertSize(entry.size)
  if (entry.type !== undefined) assertType(entry.type)
  const { name, kind, size } = entry
  return { name, kind, size, id: digestOf(entry.id), ...(entry.type === undefined ? {} : { type: entry.type }) }
}

function readEntry(value: unknown): TreeEntry {
  const hasType = typeof value === 'object' && value !== null && 'type' in value
  const keys = ['id', 'kind', 'name', 'size', ...(hasType ? ['type'] : [])]
  const { name, kind, id, size, type } = record(value, 'an entry', keys)
  if (typeof name !== 'string') throw malformed('a name is not a string')
  nameBytes(name)
  if (kind !== 'file' && kind !== 'tree') throw malformed(`${JSON.stringify(name)} is neither a file nor a tree`)
  if (!(id instanceof Uint8Array)) throw malformed(`the id of ${JSON.stringify(name)} is not a byte string`)
  const entry = { name, kind, id: addressFromDigest(id), size: assertSize(size) } as const
  return hasType ? { ...entry, type: assertType(type) } : entry
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
