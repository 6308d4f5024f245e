/** Which of its chunks an object has lost: they are not here, or were found damaged. */
import { isKind } from '@cairn/kernel'
import { type Address, addressFromDigest, digestOf } from '@cairn/wire'
import type { SegmentChunkStore } from '../chunk/segment-chunk-store.ts'
import { KIND, type Store } from '../store.ts'
import { decodeObject } from './object-record.ts'
import { referred } from './referred.ts'

export class ObjectCheck {
  readonly #store: Store
  readonly #chunks: SegmentChunkStore

  constructor(store: Store, chunks: SegmentChunkStore) {
    this.#store = store
    this.#chunks = chunks
  }

  /** `damaged` are chunks that were found so, perhaps before a restart. Nothing if it is whole; the object itself if its record or its list of chunks is damaged; `undefined` if there is no such object. */
  async lost(object: Address, damaged: ReadonlySet<string>): Promise<ReadonlySet<Address> | undefined> {
    const lost = new Set<Address>()
    const digest = digestOf(object)
    try {
      const record = await this.#store.read(KIND.object, digest)
      if (record === undefined) return undefined
      for await (const ids of referred(this.#chunks, digest, decodeObject(record.payload))) {
        for (const each of ids) {
          const id = addressFromDigest(each)
          if (damaged.has(id) || !this.#chunks.willExist(id)) lost.add(id)
        }
      }
    } catch (error) {
      if (!isKind(error, 'Integrity')) throw error
      lost.add(object)
    }
    return lost
  }
}
