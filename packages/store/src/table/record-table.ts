/**
 * Small values by key, beside the chunks: for a service that must find again what it knew, and may not count on more than
 * the journal. Each is a record; the newest of a key wins, and compaction takes the others.
 */
import { isKind } from '@cairn/kernel'
import type { Draft } from '../journal/segment.ts'
import { KIND, type RecordStore } from '../record-store.ts'

/** Changes written together at most, so that others come in between. */
const TOGETHER = 128
const TOGETHER_BYTES = 1024 * 1024

export interface TableChange {
  /** 32 bytes. */
  readonly key: Uint8Array
  /** Absent when the key goes. */
  readonly value: Uint8Array | undefined
}

export class RecordTable {
  readonly #store: RecordStore

  constructor(store: RecordStore) {
    this.#store = store
  }

  /** Resolves once all changes are durable, in this order. */
  async write(changes: readonly TableChange[]): Promise<void> {
    let drafts: Draft[] = []
    let bytes = 0
    for (const { key, value } of changes) {
      // Nothing says that what is not there has gone.
      if (value === undefined && this.#store.lookup(KIND.note, key) === undefined) continue
      const draft =
        value === undefined
          ? this.#store.tombstone(KIND.note, key)
          : { kind: KIND.note, flags: 0, id: key, payload: value }
      drafts.push(draft)
      bytes += draft.payload.length
      if (drafts.length < TOGETHER && bytes < TOGETHER_BYTES) continue
      await this.#submit(drafts)
      drafts = []
      bytes = 0
    }
    if (drafts.length > 0) await this.#submit(drafts)
  }

  /** Every key and value, in no order. One that is damaged is left out. Waits for the index to be complete. */
  async *entries(): AsyncGenerator<{ readonly key: Uint8Array; readonly value: Uint8Array }> {
    await this.#store.caughtUp()
    this.#store.mustBeComplete()
    for (const slice of this.#store.index.live(KIND.note)) {
      for (const { place, lsn } of slice) {
        try {
          const { id, payload } = await this.#store.journal.read(place)
          // It may have been written anew, or moved, since this slice was looked at: the newest is what counts.
          const record =
            this.#store.lookup(KIND.note, id)?.lsn === lsn ? { payload } : await this.#store.read(KIND.note, id)
          if (record !== undefined) yield { key: id, value: record.payload }
        } catch (error) {
          if (!isKind(error, 'Integrity') && !isKind(error, 'NotFound')) throw error
          this.#store.machine.log.warn({ segment: place.segment }, 'a record of a table is damaged and is left out')
        }
      }
    }
  }

  async #submit(drafts: readonly Draft[]): Promise<void> {
    const freesSpace = drafts.every(({ flags }) => flags !== 0)
    await this.#store.submit(drafts, { freesSpace }).durable()
  }
}
