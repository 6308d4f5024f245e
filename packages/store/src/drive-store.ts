import { Closeable, TokenBucket } from '@cairn/kernel'
import { SegmentChunkStore } from './chunk/segment-chunk-store.ts'
import { Compactor, type CompactorOptions } from './compaction/compactor.ts'
import type { StoreMachine } from './drive/drive.ts'
import { ObjectCopies } from './object/object-copies.ts'
import { ObjectStore } from './object/object-store.ts'
import { ObjectCheck, Referrers } from './object/references.ts'
import { Sweeper } from './object/sweeper.ts'
import { RecordStore, type RecordStoreOptions, type StoreFacts } from './record-store.ts'
import { giveUp, type SegmentLossReport, wouldLose } from './scrub/give-up.ts'
import { SegmentScrub } from './scrub/segment-scrub.ts'
import { RecordTable } from './table/record-table.ts'

const CACHE_BYTES = 256 * 1024 * 1024
const COMPACTION_PACE = { rate: 50 * 1024 * 1024, burst: 8 * 1024 * 1024 }

export interface DriveStoreOptions extends RecordStoreOptions, Partial<CompactorOptions> {
  /** Verified chunks kept in memory. */
  readonly cacheBytes?: number
}

/** One drive's chunks and objects, and the work that keeps them in order. */
export class DriveStore extends Closeable {
  readonly chunks: SegmentChunkStore
  readonly objects: ObjectStore
  /** The same objects with versions, where this is one store of several. */
  readonly copies: ObjectCopies
  readonly compactor: Compactor
  readonly sweeper: Sweeper
  readonly referrers: Referrers
  readonly check: ObjectCheck
  readonly scrub: SegmentScrub
  /** What a service keeps beside its chunks. */
  readonly table: RecordTable
  readonly #store: RecordStore

  private constructor(machine: StoreMachine, options: DriveStoreOptions, store: RecordStore) {
    super(machine, `storage ${options.path}`)
    this.#store = store
    this.chunks = new SegmentChunkStore(store, options.cacheBytes ?? CACHE_BYTES)
    this.objects = new ObjectStore(store, this.chunks)
    this.referrers = new Referrers(store, this.chunks)
    this.check = new ObjectCheck(store, this.chunks)
    this.scrub = new SegmentScrub(store, this.chunks)
    this.copies = new ObjectCopies(store, this.chunks, this.objects)
    this.sweeper = new Sweeper(store, this.chunks)
    this.table = new RecordTable(store)
    const pace = options.pace ?? new TokenBucket(machine.clock, COMPACTION_PACE)
    this.compactor = new Compactor(store, { ...options, pace })
  }

  /** Opens or makes the storage under this path; it serves at once, whatever its size. */
  static async open(machine: StoreMachine, options: DriveStoreOptions): Promise<DriveStore> {
    const store = new RecordStore(machine, options)
    const storage = new DriveStore(machine, options, store)
    try {
      await store.start()
      return storage
    } catch (error) {
      await storage.close()
      throw error
    }
  }

  /** What is known to be lost if this damaged segment is given up. */
  wouldLose(segment: number): SegmentLossReport {
    return wouldLose(this.#store, segment)
  }

  /** Gives it up: what can be read of it is copied, the rest is lost, and garbage can be collected again. No compaction may run. */
  async giveUp(segment: number): Promise<SegmentLossReport> {
    return await giveUp(this.#store, this.compactor, segment)
  }

  facts(): StoreFacts {
    return this.#store.facts()
  }

  /** Resolves when everything in the journal is in the index. */
  async caughtUp(): Promise<void> {
    await this.#store.caughtUp()
  }

  protected override async release(): Promise<void> {
    await this.#store.close()
    this.chunks.close()
  }
}
