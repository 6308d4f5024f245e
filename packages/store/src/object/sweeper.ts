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

const LOOK_AGAIN_MS = 10 * 60_000

/** Removes chunks that no object refers to and no upload keeps. */
export class Sweeper {
  readonly #store: Store
  readonly #chunks: SegmentChunkStore
  readonly #references: References
  #lookAgainAt = 0

  constructor(store: Store, chunks: SegmentChunkStore, references: References) {
    this.#store = store
    this.#chunks = chunks
    this.#references = references
  }

  /**
   * Looks at up to `limit` chunks after the cursor. Removes nothing while the index is not whole, and makes it whole if
   * it can; leaves that when told to.
   */
  async sweep(cursor: Uint8Array | undefined, limit: number, signal?: AbortSignal): Promise<SweepReport> {
    const { index } = this.#store
    await index.flush()
    if (this.#store.facts().isCatchingUp) return { seen: 0, removed: 0, cursor: undefined }
    if (!(await this.#isWhole(signal))) return { seen: 0, removed: 0, cursor: undefined }
    const page = [...index.stored(KIND.chunk, cursor, limit)]
    const removals = page.flatMap(({ id, entry }) => {
      if (entry.isTombstone) return []
      return this.#chunks.trySweep(addressFromDigest(id), this.#references.isReferenced(id)) ?? []
    })
    for (const removal of removals) await removal.durable()
    const next = page.length === limit ? page.at(-1)?.id : undefined
    return { seen: page.length, removed: removals.length, cursor: next }
  }

  async #isWhole(signal: AbortSignal | undefined): Promise<boolean> {
    const now = this.#store.machine.clock.now()
    if (this.#references.isComplete) return true
    if (now < this.#lookAgainAt) return false
    if (await this.#references.complete(signal)) return true
    // Every object was looked at, which is not worth repeating soon if one of them is damaged.
    this.#lookAgainAt = now + LOOK_AGAIN_MS
    return false
  }
}
