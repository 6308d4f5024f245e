/**
 * What a system error becomes. The sentence never holds a path, because it may reach a client; the
 * cause, which does, goes to the log.
 */
import { CairnError, type ErrorKind, type ErrorOptions } from '@cairn/kernel'

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

/** Any error of the file system as one of ours. */
export function diskError(cause: unknown): CairnError {
  if (cause instanceof CairnError) return cause
  const { kind, detail, ...options } = ROWS[systemCode(cause)] ?? BROKEN
  return new CairnError(kind, detail, { ...options, cause })
}

/** The same error without a system to have raised it: for disks that live in memory. */
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
