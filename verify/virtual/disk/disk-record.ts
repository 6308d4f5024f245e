/**
 * Everything that was asked of a drive since it was last known to be at rest, in order, and what of it
 * a power cut can still undo.
 *
 *     write ─ write ─ sync(file) ─ link(name) ─ write ─ sync(directory)
 *     ╰─ durable ─╯                ╰─ durable ────────────────╯ but the last write is not
 *
 * A sync covers what was asked before it *began*; bytes belong to their file, names to their directory.
 */
import { FileBytes } from '@cairn/platform/testing'
import type { InodeTable } from './inode-table.ts'

export type DiskChange =
  | { readonly tag: 'write'; readonly file: number; readonly position: number; readonly bytes: Uint8Array }
  | { readonly tag: 'resize'; readonly file: number; readonly length: number }
  | {
      readonly tag: 'link'
      readonly directory: number
      readonly name: string
      readonly node: number
      readonly kind: 'file' | 'directory'
    }
  | { readonly tag: 'unlink'; readonly directory: number; readonly name: string; readonly node: number }
  | {
      readonly tag: 'rename'
      readonly from: { readonly directory: number; readonly name: string }
      readonly to: { readonly directory: number; readonly name: string }
      readonly node: number
    }

export type DiskEvent =
  | DiskChange
  /** All changes of this file or directory that come before `upTo` in the record are durable. */
  | { readonly tag: 'sync'; readonly of: number; readonly upTo: number }
  /** A sync failed: what it would have made durable never will be, whatever later syncs say. */
  | { readonly tag: 'sync-failed'; readonly of: number; readonly upTo: number }
  /** Something the code under test promised to somebody. */
  | { readonly tag: 'mark'; readonly label: string }

/** What became of one change that was not durable. A torn write is a prefix, or zeros where its bytes should be. */
export type Fate =
  | { readonly tag: 'kept' }
  | { readonly tag: 'lost' }
  | { readonly tag: 'torn'; readonly bytes: number }
  | { readonly tag: 'zeroed' }

export const KEPT: Fate = { tag: 'kept' }
export const LOST: Fate = { tag: 'lost' }

export interface Pending {
  /** Position in the record. */
  readonly at: number
  readonly change: DiskChange
}

/** Of a volatile file the system writes older changes back by itself: as many as this may still be lost. */
const VOLATILE_MAX = 4

/** Files that are written again and again and never synced: nothing may depend on their bytes. */
export function volatileFiles(record: readonly DiskEvent[]): ReadonlySet<number> {
  const changes = new Map<number, number>()
  for (const event of record)
    if (event.tag === 'write' || event.tag === 'resize') changes.set(event.file, (changes.get(event.file) ?? 0) + 1)
  for (const event of record) if (event.tag === 'sync' || event.tag === 'sync-failed') changes.delete(event.of)
  return new Set([...changes].filter(([, count]) => count > VOLATILE_MAX).map(([file]) => file))
}

/** Whether it is a change of the bytes of one of these files. */
export function isOf({ change }: Pending, files: ReadonlySet<number>): boolean {
  return (change.tag === 'write' || change.tag === 'resize') && files.has(change.file)
}

/** The changes among the first `length` events that a power cut right then could undo. */
export function pendingChanges(
  record: readonly DiskEvent[],
  length: number,
  volatile: ReadonlySet<number> = volatileFiles(record),
): Pending[] {
  let pending: Pending[] = []
  const doomed = new Set<number>()
  for (const [at, event] of record.slice(0, length).entries()) {
    switch (event.tag) {
      case 'sync':
        pending = pending.filter((each) => doomed.has(each.at) || !isCovered(each, event.of, event.upTo))
        break
      case 'sync-failed':
        for (const each of pending) if (isCovered(each, event.of, event.upTo)) doomed.add(each.at)
        break
      case 'mark':
        break
      default:
        pending.push({ at, change: event })
        if (isOf({ at, change: event }, volatile)) writeBack(pending, new Set([ownerOf(event)]))
    }
  }
  return pending
}

function writeBack(pending: Pending[], file: ReadonlySet<number>): void {
  const isOfFile = (each: Pending): boolean => isOf(each, file)
  if (pending.filter(isOfFile).length > VOLATILE_MAX) pending.splice(pending.findIndex(isOfFile), 1)
}

function isCovered({ at, change }: Pending, of: number, upTo: number): boolean {
  return at < upTo && ownerOf(change) === of
}

function ownerOf(change: DiskChange): number {
  switch (change.tag) {
    case 'write':
    case 'resize':
      return change.file
    case 'link':
    case 'unlink':
      return change.directory
    case 'rename':
      return change.to.directory
  }
}

/** Plays the first `length` events onto the table; changes without a fate happened as asked. */
export function replay(
  table: InodeTable,
  record: readonly DiskEvent[],
  length: number,
  fates: ReadonlyMap<number, Fate>,
): void {
  for (const [at, event] of record.slice(0, length).entries()) {
    if (event.tag === 'sync' || event.tag === 'sync-failed' || event.tag === 'mark') continue
    apply(table, event, fates.get(at) ?? KEPT)
  }
}

function apply(table: InodeTable, change: DiskChange, fate: Fate): void {
  switch (change.tag) {
    case 'write':
      applyWrite(bytesOf(table, change.file), change.position, change.bytes, fate)
      return
    case 'resize':
      if (fate.tag === 'kept') bytesOf(table, change.file).resize(change.length)
      return
    case 'link':
      if (!table.has(change.node)) table.set(change.node, newInode(change.kind))
      if (fate.tag === 'kept') entriesOf(table, change.directory).set(change.name, change.node)
      return
    case 'unlink':
      if (fate.tag === 'kept') removeEntry(table, change.directory, change.name, change.node)
      return
    case 'rename':
      if (fate.tag !== 'kept') return
      removeEntry(table, change.from.directory, change.from.name, change.node)
      entriesOf(table, change.to.directory).set(change.to.name, change.node)
  }
}

function applyWrite(file: FileBytes, position: number, bytes: Uint8Array, fate: Fate): void {
  switch (fate.tag) {
    case 'kept':
      file.write(position, bytes)
      return
    case 'torn':
      file.write(position, bytes.subarray(0, fate.bytes))
      return
    case 'zeroed':
      // The length reached the disk, the bytes did not.
      file.write(position, new Uint8Array(bytes.length))
      return
    case 'lost':
  }
}

/** Only if the name still means this file: with changes left out, it may mean another one. */
function removeEntry(table: InodeTable, directory: number, name: string, node: number): void {
  const entries = entriesOf(table, directory)
  if (entries.get(name) === node) entries.delete(name)
}

function newInode(
  kind: 'file' | 'directory',
): { tag: 'file'; bytes: FileBytes } | { tag: 'directory'; entries: Map<string, number> } {
  return kind === 'file' ? { tag: 'file', bytes: new FileBytes() } : { tag: 'directory', entries: new Map() }
}

function bytesOf(table: InodeTable, id: number): FileBytes {
  const inode = table.get(id)
  if (inode?.tag !== 'file') throw new Error(`Inode ${id} is not a file.`)
  return inode.bytes
}

function entriesOf(table: InodeTable, id: number): Map<string, number> {
  const inode = table.get(id)
  if (inode?.tag !== 'directory') throw new Error(`Inode ${id} is not a directory.`)
  return inode.entries
}
