/**
 * The index on disk, over LMDB: one file of pages, one writer, readers that see one moment.
 *
 *     commit ─▶ batch ─▶ LMDB's write thread ─▶ pages written, synced, then the root page, synced ─▶ resolved
 *                                  └─ any error ─▶ poisoned: no reads, no commits, until reopened
 *
 * The settings are chosen for what the library does when a disk fails: with `overlappingSync` a commit
 * that the disk refused stays visible; with `eventTurnBatching` each turn makes a promise that nobody is
 * given, and a refused commit, rejecting it, ends the process. `noSync`, `mapAsync` and `useWritemap` stay
 * off: each gives up durability or lets a stray write reach the file.
 */
import { Closeable, type Runtime } from '@cairn/kernel'
import type { RootDatabase } from 'lmdb'
import { diskError } from '../disk/disk-error.ts'
import type { Kv, KvEntry, KvOpener, KvOperation, KvRange } from './kv.ts'
import { checkOperations, kvAlreadyOpen, kvClosed, kvPoisoned } from './kv-error.ts'

type Database = RootDatabase<Uint8Array, Uint8Array>

/** Stores over LMDB. The library is loaded with the first one, so commands that need none do not pay for it. */
export class LmdbKvOpener implements KvOpener {
  readonly #runtime: Runtime
  readonly #open = new Set<string>()

  constructor(runtime: Runtime) {
    this.#runtime = runtime
  }

  /** `mapBytes` is address space taken once; a store that outgrows it is mapped anew, which costs a pause. */
  async open(path: string, { mapBytes }: { readonly mapBytes: number }): Promise<Kv> {
    if (this.#open.has(path)) throw kvAlreadyOpen()
    this.#open.add(path)
    try {
      const { open } = await import('lmdb')
      const database: Database = open(path, {
        encoding: 'binary',
        keyEncoding: 'binary',
        mapSize: mapBytes,
        noSubdir: false,
        maxDbs: 1,
        overlappingSync: false,
        eventTurnBatching: false,
      })
      return new LmdbKv(this.#runtime, path, database, () => {
        this.#open.delete(path)
      })
    } catch (error) {
      this.#open.delete(path)
      throw diskError(error)
    }
  }
}

type State = { readonly tag: 'open' } | { readonly tag: 'poisoned'; readonly cause: unknown }

class LmdbKv extends Closeable implements Kv {
  readonly #database: Database
  readonly #onClosed: () => void
  #state: State = { tag: 'open' }

  constructor(runtime: Runtime, path: string, database: Database, onClosed: () => void) {
    super(runtime, `kv ${path}`)
    this.#database = database
    this.#onClosed = onClosed
  }

  get(key: Uint8Array): Uint8Array | undefined {
    return this.#usable().get(key)
  }

  *range({ from, to, limit }: KvRange): Iterable<KvEntry> {
    const entries = this.#usable().getRange({
      ...(from === undefined ? {} : { start: from }),
      ...(to === undefined ? {} : { end: to }),
      ...(limit === undefined ? {} : { limit }),
    })
    for (const { key, value } of entries) {
      yield { key, value }
      this.#usable()
    }
  }

  async commit(operations: readonly KvOperation[]): Promise<void> {
    const database = this.#usable()
    checkOperations(operations)
    try {
      let writes: Promise<boolean>[] = []
      const batch = database.batch(() => {
        writes = operations.map((operation) => write(database, operation))
      })
      await Promise.all([batch, ...writes])
    } catch (error) {
      this.#state = { tag: 'poisoned', cause: error }
      this.#state = { tag: 'poisoned', cause: await commitError(error) }
      throw kvPoisoned(this.#state.cause)
    }
    // A commit that shared its transaction with a failed one must not count as done.
    if (this.#state.tag === 'poisoned') throw kvPoisoned(this.#state.cause)
  }

  protected override async release(): Promise<void> {
    try {
      // Waits for commits under way.
      await this.#database.close()
    } finally {
      this.#onClosed()
    }
  }

  #usable(): Database {
    if (this.closed) throw kvClosed()
    if (this.#state.tag === 'poisoned') throw kvPoisoned(this.#state.cause)
    return this.#database
  }
}

function write(database: Database, operation: KvOperation): Promise<boolean> {
  return operation.tag === 'put' ? database.put(operation.key, operation.value) : database.remove(operation.key)
}

/**
 * The library rejects with a general error and hangs the real one on it as a promise, rejected in the same turn;
 * taking it here keeps that rejection from going unhandled.
 */
async function commitError(error: unknown): Promise<unknown> {
  if (!(error instanceof Error) || !('commitError' in error)) return error
  const reason = Promise.allSettled([error.commitError]).then(([outcome]): unknown => {
    return outcome.status === 'rejected' ? outcome.reason : error
  })
  const turn = new Promise<unknown>((resolve) => {
    setImmediate(resolve, error)
  })
  return await Promise.race([reason, turn])
}
