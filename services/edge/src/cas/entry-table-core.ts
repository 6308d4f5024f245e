/**
 * Which responses are kept, which chunks they need, and who goes first.
 *
 *     key ──▶ entries (one for each value of the selecting fields) ──▶ chunks, each counted by who needs it
 *                 └── least recently used first: those make room
 *
 * A chunk that nobody needs any more is doomed, not gone: whoever removes it looks at its count again in the step in
 * which it is removed, and whoever stores a chunk counts it first. So a chunk that somebody counts on never goes.
 */
import type { Address } from '@cairn/wire'
import { CHUNK_BYTES, entryId, type StoredBody, type StoredEntry } from './entry.ts'

/** Entries of one key; more kinds of client than this share the slots. */
const ENTRIES_PER_KEY_MAX = 16

interface ChunkUse {
  count: number
  bytes: number
}

export interface EntryTable {
  readonly byKey: Map<string, StoredEntry[]>
  /** By id, least recently used first. */
  readonly byUse: Map<string, StoredEntry>
  readonly chunks: Map<Address, ChunkUse>
  readonly doomed: Set<Address>
  /** Ids whose entries are not yet written down as they are. */
  readonly dirty: Set<string>
  bytes: number
}

export function createTable(): EntryTable {
  return { byKey: new Map(), byUse: new Map(), chunks: new Map(), doomed: new Set(), dirty: new Set(), bytes: 0 }
}

/** Somebody needs the chunk from now on. */
export function retain(table: EntryTable, id: Address, bytes: number): void {
  const use = table.chunks.get(id)
  if (use !== undefined) {
    use.count += 1
    return
  }
  table.chunks.set(id, { count: 1, bytes })
  table.doomed.delete(id)
  table.bytes += bytes
}

export function release(table: EntryTable, id: Address): void {
  const use = table.chunks.get(id)
  if (use === undefined) return
  use.count -= 1
  if (use.count > 0) return
  table.chunks.delete(id)
  table.bytes -= use.bytes
  table.doomed.add(id)
}

export function retainBody(table: EntryTable, { chunks, size }: StoredBody): void {
  for (const [at, id] of chunks.entries()) retain(table, id, Math.min(CHUNK_BYTES, size - at * CHUNK_BYTES))
}

export function releaseBody(table: EntryTable, { chunks }: StoredBody): void {
  for (const id of chunks) release(table, id)
}

/** Keeps the entry, in place of one that was selected by the same; its chunks are counted here. */
export function put(table: EntryTable, entry: StoredEntry): void {
  retainBody(table, entry.body)
  const id = entryId(entry)
  const before = table.byUse.get(id)
  if (before !== undefined) remove(table, before)
  const entries = table.byKey.get(entry.key) ?? []
  const oldest = entries.length >= ENTRIES_PER_KEY_MAX ? entries[0] : undefined
  if (oldest !== undefined) remove(table, oldest)
  table.byKey.set(entry.key, [...(table.byKey.get(entry.key) ?? []), entry])
  table.byUse.set(id, entry)
  table.dirty.add(id)
}

export function remove(table: EntryTable, entry: StoredEntry): void {
  const id = entryId(entry)
  if (table.byUse.get(id) !== entry) return
  table.byUse.delete(id)
  table.dirty.add(id)
  const rest = (table.byKey.get(entry.key) ?? []).filter((other) => other !== entry)
  if (rest.length === 0) table.byKey.delete(entry.key)
  else table.byKey.set(entry.key, rest)
  releaseBody(table, entry.body)
}

export function touch(table: EntryTable, entry: StoredEntry): void {
  const id = entryId(entry)
  if (table.byUse.get(id) !== entry) return
  table.byUse.delete(id)
  table.byUse.set(id, entry)
}

export function entriesOf(table: EntryTable, key: string): readonly StoredEntry[] {
  return table.byKey.get(key) ?? []
}

/** Entries go, least recently used first, until no more than this is needed; returns how many went. */
export function evict(table: EntryTable, bytesMax: number, entriesMax: number): number {
  let gone = 0
  for (const entry of table.byUse.values()) {
    if (table.bytes <= bytesMax && table.byUse.size <= entriesMax) return gone
    remove(table, entry)
    gone += 1
  }
  return gone
}

/** Whether a doomed chunk is still wanted by nobody; it is taken off the list either way. */
export function takeDoomed(table: EntryTable, id: Address): boolean {
  table.doomed.delete(id)
  return !table.chunks.has(id)
}
