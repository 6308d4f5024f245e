/**
 * Files, as a durable store needs them: append, sync, read at a place, cut, rename, and the directory
 * syncs without which a new name may not survive a power cut. Nothing is durable before its `sync`.
 */

export interface DiskFile extends AsyncDisposable {
  readonly path: string
  /** Writes the buffers one after the other at the end; resolves with the offset of the first byte. A short write is an error. */
  append(buffers: readonly Uint8Array[]): Promise<number>
  /** Fills `into` from `position`; resolves with the bytes read, fewer only at the end of the file. */
  read(position: number, into: Uint8Array): Promise<number>
  /** fdatasync: what was appended before is durable once this resolves. After an error nothing about the file is certain. */
  sync(): Promise<void>
  truncate(length: number): Promise<void>
  size(): Promise<number>
  close(): Promise<void>
}

export interface DiskEntry {
  readonly name: string
  readonly kind: 'file' | 'directory' | 'other'
}

export interface DiskSpace {
  readonly freeBytes: number
  readonly totalBytes: number
}

export interface OpenOptions {
  /** `create` fails if the file exists, `append` creates it if need be, `read` never writes. */
  readonly mode: 'read' | 'append' | 'create'
  /** Permission bits of a new file. */
  readonly permissions?: number
}

export interface Disk {
  open(path: string, options: OpenOptions): Promise<DiskFile>
  /** Durable only after `syncDirectory` of the target's directory. */
  rename(from: string, to: string): Promise<void>
  unlink(path: string): Promise<void>
  makeDirectory(path: string, permissions?: number): Promise<void>
  /** fsync of the directory: creations, renames and unlinks in it before this are durable. */
  syncDirectory(path: string): Promise<void>
  /** Entries in order of name; a missing directory is `NotFound`. */
  list(path: string): Promise<DiskEntry[]>
  space(path: string): Promise<DiskSpace>
}
