import { addressFromDigest } from '@cairn/wire'
import type { SegmentChunkStore } from '../chunk/segment-chunk-store.ts'
import { KIND, type Store } from '../store.ts'
import type { References } from './references.ts'

export interface SweepReport {
  readonly seen: number
  readonly removed: number
  /** Where to go on; absent at the end of the round. */
  readonly cursor: Uint8Array | undefined
}

/** Removes chunks that no object refers to and no upload keeps. */
export class Sweeper {
  readonly #store: Store
  readonly #chunks: SegmentChunkStore
  readonly #references: References

  constructor(store: Store, chunks: SegmentChunkStore, references: References) {
    this.#store = store
    this.#chunks = chunks
    this.#references = references
  }

  /** Looks at up to `limit` chunks after the cursor. Removes nothing while the index is not whole. */
  async sweep(cursor: Uint8Array | undefined, limit: number): Promise<SweepReport> {
    const { index } = this.#store
    await index.flush()
    if (this.#store.facts().isCatchingUp || !this.#references.isComplete) return { seen: 0, removed: 0, cursor }
    const page = [...index.stored(KIND.chunk, cursor, limit)]
    const removals = page.flatMap(({ id, entry }) => {
      if (entry.isTombstone) return []
      return this.#chunks.trySweep(addressFromDigest(id), this.#references.isReferenced(id)) ?? []
    })
    for (const removal of removals) await removal.durable()
    const next = page.length === limit ? page.at(-1)?.id : undefined
    return { seen: page.length, removed: removals.length, cursor: next }
  }
}
