/** The machine's file system, and locks between processes on it. */
import { constants, type Dirent, read } from 'node:fs'
import { chmod, type FileHandle, mkdir, open, readdir, rename, stat, statfs, unlink } from 'node:fs/promises'
import type { DatabaseSync } from 'node:sqlite'
import { type CairnError, Closeable, type Runtime } from '@cairn/kernel'
import { openFilesLimit } from '../process/process.ts'
import {
  type Disk,
  type DiskEntry,
  type DiskFile,
  type DiskLock,
  type DiskSpace,
  diskError,
  fileFailed,
  locked,
  type OpenOptions,
  shortWrite,
} from './disk.ts'

/*
 * A lock between processes. Node has no flock, but SQLite locks its file through the system, which
 * releases the lock when the process dies, however it dies.
 *
 * The lock belongs to the process, not to a file descriptor: opening and closing the same file in any
 * other way would release it. Nothing else may open that file, a backup included.
 */

/** SQLITE_BUSY, SQLITE_LOCKED. */
const HELD_BY_ANOTHER: readonly unknown[] = [5, 6]

async function lockWithSqlite(runtime: Runtime, path: string): Promise<DiskLock> {
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

const { O_CREAT, O_EXCL, O_RDONLY, O_RDWR } = constants
const FLAGS = { read: O_RDONLY, append: O_RDWR | O_CREAT, create: O_RDWR | O_CREAT | O_EXCL } as const

/** The machine's file system. */
export class RealDisk implements Disk {
  readonly openFilesMax = openFilesLimit()
  readonly #runtime: Runtime

  constructor(runtime: Runtime) {
    this.#runtime = runtime
  }

  async open(path: string, { mode, permissions = 0o600 }: OpenOptions): Promise<DiskFile> {
    return await translated(async () => {
      const handle = await open(path, FLAGS[mode], permissions)
      try {
        const { size } = await handle.stat()
        return new RealFile(this.#runtime, path, handle, size)
      } catch (error) {
        await handle.close()
        throw error
      }
    })
  }

  async rename(from: string, to: string): Promise<void> {
    await translated(async () => await rename(from, to))
  }

  async unlink(path: string): Promise<void> {
    await translated(async () => await unlink(path))
  }

  async makeDirectory(path: string, permissions = 0o700): Promise<void> {
    await translated(async () => {
      try {
        await mkdir(path, { mode: permissions })
      } catch (error) {
        if (!(await isDirectory(path))) throw error
      }
    })
  }

  async syncDirectory(path: string): Promise<void> {
    // Windows journals its directories and has no call for this: a directory cannot be opened there.
    if (process.platform === 'win32') return
    await translated(async () => {
      const handle = await open(path, O_RDONLY)
      try {
        await handle.sync()
      } finally {
        await handle.close()
      }
    })
  }

  async list(path: string): Promise<DiskEntry[]> {
    const entries = await translated(async () => await readdir(path, { withFileTypes: true }))
    return entries.map((entry) => ({ name: entry.name, kind: kindOf(entry) })).sort(byName)
  }

  async space(path: string): Promise<DiskSpace> {
    const [{ bavail, blocks, bsize }, { dev }] = await translated(
      async () => await Promise.all([statfs(path), stat(path)]),
    )
    return { freeBytes: bavail * bsize, totalBytes: blocks * bsize, device: String(dev) }
  }

  async lock(path: string): Promise<DiskLock> {
    return await lockWithSqlite(this.#runtime, path)
  }
}

class RealFile extends Closeable implements DiskFile {
  readonly path: string
  readonly #handle: FileHandle
  /** Where the next append goes. Writes are placed, so appends under way at once cannot mix. */
  #end: number
  #failure: CairnError | undefined
  #reading = 0
  #onQuiet: (() => void) | undefined

  constructor(runtime: Runtime, path: string, handle: FileHandle, end: number) {
    super(runtime, `file ${path}`)
    this.path = path
    this.#handle = handle
    this.#end = end
  }

  async append(buffers: readonly Uint8Array[]): Promise<number> {
    const bytes = buffers.reduce((sum, buffer) => sum + buffer.length, 0)
    const offset = this.#end
    this.#end += bytes
    await this.#write(async () => {
      if (bytes === 0) return
      const { bytesWritten } = await this.#handle.writev([...buffers], offset)
      if (bytesWritten !== bytes) throw shortWrite(bytesWritten, bytes, await this.#freeBytes())
    })
    return offset
  }

  /** With the callback of the plain interface: through the handle each read costs as much again in promises. */
  async read(position: number, into: Uint8Array): Promise<number> {
    const { fd } = this.#handle
    this.#reading += 1
    return await new Promise<number>((resolve, reject) => {
      const end = (): void => {
        this.#reading -= 1
        if (this.#reading === 0) this.#onQuiet?.()
      }
      const step = (filled: number): void => {
        read(fd, into, filled, into.length - filled, position + filled, (error, bytesRead) => {
          const reached = filled + bytesRead
          if (error === null && bytesRead > 0 && reached < into.length) {
            step(reached)
            return
          }
          end()
          if (error === null) resolve(reached)
          else reject(diskError(error))
        })
      }
      try {
        step(0)
      } catch (error) {
        end()
        reject(diskError(error))
      }
    })
  }

  async sync(): Promise<void> {
    await this.#write(async () => await this.#handle.datasync())
  }

  async truncate(length: number): Promise<void> {
    const end = Math.min(length, this.#end)
    this.#end = end
    await this.#write(async () => await this.#handle.truncate(end))
  }

  async size(): Promise<number> {
    return await translated(async () => (await this.#handle.stat()).size)
  }

  protected override async release(): Promise<void> {
    // A descriptor that is closed under a read may be another file's when the read gets to it.
    if (this.#reading > 0) {
      await new Promise<void>((resolve) => {
        this.#onQuiet = resolve
      })
    }
    await translated(async () => await this.#handle.close())
  }

  /** Runs one change of the file; the first that fails is the last that is tried. */
  async #write(change: () => Promise<void>): Promise<void> {
    if (this.#failure !== undefined) throw fileFailed(this.#failure)
    try {
      await change()
    } catch (error) {
      this.#failure ??= diskError(error)
      throw this.#failure
    }
  }

  async #freeBytes(): Promise<number> {
    const { bavail, bsize } = await statfs(this.path)
    return bavail * bsize
  }
}

async function translated<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw diskError(error)
  }
}

async function isDirectory(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory()
  } catch {
    return false
  }
}

function kindOf(entry: Dirent): DiskEntry['kind'] {
  if (entry.isFile()) return 'file'
  return entry.isDirectory() ? 'directory' : 'other'
}

function byName(a: DiskEntry, b: DiskEntry): number {
  return a.name < b.name ? -1 : 1
}
