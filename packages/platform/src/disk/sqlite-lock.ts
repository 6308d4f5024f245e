/**
 * A lock between processes. Node has no flock, but SQLite locks its file through the system, and the
 * system lets go when the process dies, however it dies.
 *
 * The lock belongs to the process, not to a file descriptor: opening and closing the same file in any
 * other way would release it. Nobody else may touch it, a backup included.
 */

import { chmod, open } from 'node:fs/promises'
import type { DatabaseSync } from 'node:sqlite'
import { Closeable, type Runtime } from '@cairn/kernel'
import type { DiskLock } from './disk.ts'
import { diskError, locked } from './disk-error.ts'

/** SQLITE_BUSY, SQLITE_LOCKED. */
const HELD_BY_ANOTHER: readonly unknown[] = [5, 6]

export async function lockWithSqlite(runtime: Runtime, path: string): Promise<DiskLock> {
  const { DatabaseSync } = await import('node:sqlite')
  let database: DatabaseSync | undefined
  try {
    // Made by SQLite, it would have the mode of the process's umask. Only the maker opens it otherwise: see above.
    await makePrivate(path)
    database = new DatabaseSync(path)
    // Nothing is ever written, so there is nothing to roll back: no journal file beside the lock. (`OFF` is refused.)
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE')
    return new SqliteLock(runtime, path, database)
  } catch (cause) {
    database?.close()
    if (cause instanceof Error && 'errcode' in cause && HELD_BY_ANOTHER.includes(cause.errcode)) throw locked(cause)
    throw diskError(cause)
  }
}

async function makePrivate(path: string): Promise<void> {
  try {
    await (await open(path, 'wx', 0o600)).close()
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
    await chmod(path, 0o600)
  }
}

class SqliteLock extends Closeable implements DiskLock {
  readonly #database: DatabaseSync

  constructor(runtime: Runtime, path: string, database: DatabaseSync) {
    super(runtime, `lock ${path}`)
    this.#database = database
  }

  protected override release(): Promise<void> {
    return Promise.try(() => this.#database.close())
  }
}
