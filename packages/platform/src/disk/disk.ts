/**
 * Files, as a durable store needs them: append, sync, read at a place, cut, rename, and the directory
 * syncs without which a new name may not survive a power cut. Nothing is durable before its `sync`.
 *
 *     append ─▶ page cache ─── sync ────────▶ the bytes survive
 *     open, rename, unlink ─── syncDirectory ▶ the name survives
 *
 * Errors are those of `disk-error.ts`, the same from every implementation: `NotFound`, `Conflict` with
 * the code `exists`, `StorageBusy` 507 `no_space`, `Internal` `disk_io`.
 */

export interface DiskFile extends AsyncDisposable {
  readonly path: string
  /**
   * Writes the buffers one after the other at the end; resolves with the offset of the first byte. A
   * short write is an error, and after an error the file takes no more: how much arrived is unknown.
   */
  append(buffers: readonly Uint8Array[]): Promise<number>
  /** Fills `into` from `position`; resolves with the bytes read, fewer only at the end of the file. */
  read(position: number, into: Uint8Array): Promise<number>
  /**
   * fdatasync: what was appended or cut before is durable once this resolves. An error is final: the
   * system may have dropped the pages it could not write, so a second sync would prove nothing.
   */
  sync(): Promise<void>
  /** Cuts the file; the next append goes to the new end. Never lengthens it. */
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
  /** What the system calls the device; equal for what fails together. Absent where there is none. */
  readonly device?: string
}

export interface OpenOptions {
  /** `create` fails if the file exists, `append` creates it if need be, `read` never writes. */
  readonly mode: 'read' | 'append' | 'create'
  /** Permission bits of a new file; 0600 unless given. */
  readonly permissions?: number
}

/** Held until closed, or until the process that holds it is gone. */
export interface DiskLock extends AsyncDisposable {
  close(): Promise<void>
}

export interface Disk {
  /** How many files and connections the process may have open; absent where there is no such limit. */
  readonly openFilesMax?: number | undefined
  open(path: string, options: OpenOptions): Promise<DiskFile>
  /** Replaces what `to` names. Durable only after `syncDirectory` of the target's directory. */
  rename(from: string, to: string): Promise<void>
  unlink(path: string): Promise<void>
  /** Makes one directory, 0700 unless given; one that is already there is left as it is. */
  makeDirectory(path: string, permissions?: number): Promise<void>
  /** fsync of the directory: creations, renames and unlinks in it before this are durable. */
  syncDirectory(path: string): Promise<void>
  /** Entries in order of name; a missing directory is `NotFound`. */
  list(path: string): Promise<DiskEntry[]>
  space(path: string): Promise<DiskSpace>
  /** Takes the lock that is the file at `path`, made if need be; `Conflict` with the code `locked` while anybody has it. */
  lock(path: string): Promise<DiskLock>
}
