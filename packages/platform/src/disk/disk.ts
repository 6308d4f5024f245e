/**
 * Files, as a durable store needs them: append, sync, read at a place, cut, rename, and the directory
 * syncs without which a new name may not survive a power cut. Nothing is durable before its `sync`.
 *
 *     append ─▶ page cache ─── sync ────────▶ the bytes survive
 *     open, rename, unlink ─── syncDirectory ▶ the name survives
 *
 * Errors are the same from every implementation: `NotFound`, `Conflict` with the code `exists`,
 * `StorageBusy` 507 `no_space`, `Internal` `disk_io`.
 */
import { CairnError, type ErrorKind, type ErrorOptions } from '@cairn/kernel'

/*
 * System errors as ours. The sentence never holds a path, because it may reach a client; the cause
 * does, and goes to the log.
 */

interface DiskErrorRow extends ErrorOptions {
  readonly kind: ErrorKind
  readonly detail: string
}

const NO_SPACE: DiskErrorRow = {
  kind: 'StorageBusy',
  code: 'no_space',
  status: 507,
  detail: 'The disk is full; free some space and try again.',
}

const DENIED: DiskErrorRow = {
  kind: 'Internal',
  code: 'disk_denied',
  detail: 'The system refused access to a file; check the owner and the permissions of the data directory.',
}

const TOO_MANY_FILES: DiskErrorRow = {
  kind: 'StorageBusy',
  code: 'too_many_files',
  retryAfterMs: 1000,
  detail: 'Too many files are open; raise the limit (ulimit -n) or try again.',
}

const ROWS: Readonly<Record<string, DiskErrorRow>> = {
  ENOENT: { kind: 'NotFound', detail: 'There is no such file or directory.' },
  EEXIST: { kind: 'Conflict', code: 'exists', detail: 'A file of this name already exists.' },
  ENOSPC: NO_SPACE,
  EDQUOT: NO_SPACE,
  EACCES: DENIED,
  EPERM: DENIED,
  EROFS: DENIED,
  EMFILE: TOO_MANY_FILES,
  ENFILE: TOO_MANY_FILES,
}

const BROKEN: DiskErrorRow = {
  kind: 'Internal',
  code: 'disk_io',
  detail: 'The disk could not read or write; look at the log and at the health of the drive.',
}

/** Maps any error of the file system to one of ours. */
export function diskError(cause: unknown): CairnError {
  if (cause instanceof CairnError) return cause
  const { kind, detail, ...options } = ROWS[systemCode(cause)] ?? BROKEN
  return new CairnError(kind, detail, { ...options, cause })
}

/** Makes the same error without a system call behind it, for disks in memory. */
export function diskFailure(code: string, what: string): CairnError {
  return diskError(Object.assign(new Error(`${code}: ${what}`), { code }))
}

/** Part of a write arrived. A disk that ran full says it this way first, so the room left decides what to call it. */
export function shortWrite(wroteBytes: number, askedBytes: number, freeBytes: number): CairnError {
  const cause = new Error(`wrote ${wroteBytes} of ${askedBytes} bytes`)
  if (freeBytes < askedBytes - wroteBytes) return diskError(Object.assign(cause, { code: 'ENOSPC' }))
  return new CairnError('Internal', 'The disk took only a part of a write.', { code: 'short_write', cause })
}

/** For a file that already failed: see `DiskFile.sync`. */
export function fileFailed(cause: CairnError): CairnError {
  const detail = 'This file failed before and takes no more; go on in a new one.'
  return new CairnError(cause.kind, detail, { code: cause.code, status: cause.status, cause })
}

export function locked(cause?: unknown): CairnError {
  return new CairnError('Conflict', 'Another process holds the lock.', { code: 'locked', cause })
}

function systemCode(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
}

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
  /** Takes the lock that is the file at `path`, made if need be; `Conflict` with the code `locked` while another process holds it. */
  lock(path: string): Promise<DiskLock>
}
