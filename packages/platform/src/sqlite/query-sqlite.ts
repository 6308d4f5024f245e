/**
 * One query to a SQLite file of a stranger, for `platform.isolated`: a view in it may never end, and
 * SQLite itself may stumble over a damaged page. Read-only, without extensions; what the schema brings along cannot run.
 */
import { createHash } from 'node:crypto'
import { statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { CairnError } from '@cairn/kernel'
import type { WorkerTask } from '../workers/worker-pool.ts'

export interface SqliteQuery {
  readonly path: string
  readonly sql: string
  readonly parameters: readonly (string | number)[]
  readonly rowsMax: number
  /** What `IDENTIFY_FILE` said: the answer is from this very file and no other of its name. */
  readonly file?: string | undefined
}

export type SqliteValue = string | number | bigint | null | Uint8Array
export type SqliteRow = Readonly<Record<string, SqliteValue>>

/** The code of an error about a path that names another file by now. */
export const FILE_REPLACED = 'file_replaced'

/** `Integrity` when the file is no database or damaged; `StorageBusy` while another process locks it, or after it was replaced. */
export const QUERY_SQLITE: WorkerTask<SqliteQuery, SqliteRow[]> = {
  module: new URL(import.meta.url),
  name: 'querySqlite',
}

/** The file a path names now: another text as soon as it is replaced or written to. */
export const IDENTIFY_FILE: WorkerTask<string, string> = { module: new URL(import.meta.url), name: 'identifyFile' }

const BUSY_TIMEOUT_MS = 250
const [BUSY, LOCKED] = [5, 6]

/** Runs in the other process; use it through `QUERY_SQLITE`. */
export function querySqlite({ path, sql, parameters, rowsMax, file }: SqliteQuery): SqliteRow[] {
  checkFile(path, file)
  const rows = readRows(path, sql, parameters, rowsMax)
  checkFile(path, file)
  return rows
}

/** Runs in the other process; use it through `IDENTIFY_FILE`. */
export function identifyFile(path: string): string {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = statSync(path, { bigint: true })
    return [dev, ino, size, mtimeNs, ctimeNs].join(' ')
  } catch (error) {
    throw new CairnError('NotFound', `There is no file at ${path}.`, { cause: error })
  }
}

function checkFile(path: string, file: string | undefined): void {
  if (file === undefined || identify(path) === file) return
  throw new CairnError('StorageBusy', 'The database is another file than it was. Open it again.', {
    code: FILE_REPLACED,
  })
}

function identify(path: string): string | undefined {
  try {
    return identifyFile(path)
  } catch {
    return undefined
  }
}

function readRows(path: string, sql: string, parameters: SqliteQuery['parameters'], rowsMax: number): SqliteRow[] {
  try {
    using database = new DatabaseSync(path, { readOnly: true, allowExtension: false, timeout: BUSY_TIMEOUT_MS })
    database.exec(
      'PRAGMA trusted_schema = OFF; PRAGMA query_only = ON; PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0',
    )
    addHashes(database)
    const rows: SqliteRow[] = []
    for (const row of database.prepare(sql).iterate(...parameters)) {
      rows.push(row)
      if (rows.length >= rowsMax) break
    }
    return rows
  } catch (error) {
    throw sqliteError(error)
  }
}

/**
 * `md5(value)`, and `md5_concat(value, …)` over all rows, in lower-case hex: the sums that tile files carry. A schema
 * cannot call them, only a question can.
 */
function addHashes(database: DatabaseSync): void {
  const given = (value: SqliteValue): string | Uint8Array =>
    value === null ? '' : value instanceof Uint8Array ? value : String(value)
  const options = { directOnly: true, deterministic: true }
  database.function('md5', options, (value) => createHash('md5').update(given(value)).digest('hex'))
  // One question has one such sum; the state that SQLite hands around can only be a value of its own.
  let hash = createHash('md5')
  database.aggregate('md5_concat', {
    ...options,
    varargs: true,
    start: () => {
      hash = createHash('md5')
      return 0
    },
    step: (_state, ...values) => {
      for (const value of values) hash.update(given(value))
      return 0
    },
    result: () => hash.digest('hex'),
  })
}

function sqliteError(error: unknown): CairnError {
  const code = error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : undefined
  const detail = error instanceof Error ? error.message : String(error)
  if (code === BUSY || code === LOCKED) {
    return new CairnError('StorageBusy', `The database is locked by another program: ${detail}`, { cause: error })
  }
  return new CairnError('Integrity', `The database cannot be read: ${detail}`, { cause: error })
}
