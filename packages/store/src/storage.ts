import { Closeable, TokenBucket } from '@cairn/kernel'
import { SegmentChunkStore } from './chunk/segment-chunk-store.ts'
import { Compactor, type CompactorOptions } from './compaction/compactor.ts'
import type { StoreMachine } from './machine.ts'
import { ObjectCopies } from './object/object-copies.ts'
import { ObjectStore } from './object/object-store.ts'
import { References } from './object/references.ts'
import { Sweeper } from './object/sweeper.ts'
import { Store, type StoreFacts, type StoreOptions } from './store.ts'

const CACHE_BYTES = 256 * 1024 * 1024
const COMPACTION_PACE = { rate: 50 * 1024 * 1024, burst: 8 * 1024 * 1024 }

export interface StorageOptions extends StoreOptions, Partial<CompactorOptions> {
  /** Verified chunks kept in memory. */
  readonly cacheBytes?: number
}

/** One drive's chunks and objects, and the work that keeps them in order. */
export class Storage extends Closeable {
  readonly chunks: SegmentChunkStore
  readonly objects: ObjectStore
  /** The same objects with versions, where this is one store of several. */
  readonly copies: ObjectCopies
  readonly compactor: Compactor
  readonly sweeper: Sweeper
  readonly references: References
  readonly #store: Store

  private constructor(machine: StoreMachine, options: StorageOptions, store: Store) {
    super(machine, `storage ${options.path}`)
    this.#store = store
    this.chunks = new SegmentChunkStore(store, options.cacheBytes ?? CACHE_BYTES)
    this.objects = new ObjectStore(store, this.chunks)
    this.references = new References(store, this.chunks, this.objects)
    this.copies = new ObjectCopies(store, this.chunks, this.objects, this.references)
    this.sweeper = new Sweeper(store, this.chunks, this.references)
    const pace = options.pace ?? new TokenBucket(machine.clock, COMPACTION_PACE)
    this.compactor = new Compactor(store, { ...options, pace })
  }

  /** Opens or makes the storage under this path; it serves at once, whatever its size. */
  static async open(machine: StoreMachine, options: StorageOptions): Promise<Storage> {
    const store = await Store.open(machine, options)
    const storage = new Storage(machine, options, store)
    try {
      await store.start({
        derive: (change) => storage.references.derive(change),
        onFlushed: (lsn) => storage.objects.indexed(lsn),
      })
      return storage
    } catch (error) {
      await storage.close()
      throw error
    }
  }

  facts(): StoreFacts {
    return this.#store.facts()
  }

  /** Resolves when everything in the journal is in the index and every object's chunks are known. */
  async caughtUp(): Promise<void> {
    await this.references.complete()
  }

  protected override async release(): Promise<void> {
    await this.#store.close()
    this.chunks.close()
  }
}
