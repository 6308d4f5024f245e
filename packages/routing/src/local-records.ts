/** Everything this node can say about an object by itself: its own holding, and what others announced to it. */
import type { Address } from '@cairn/wire'
import type { SignedProviderRecord } from './record.ts'
import type { RecordSigner } from './record-signer.ts'
import type { RecordStore } from './record-store.ts'

export interface LocalRecordsOptions {
  /** Whether this node holds the object. */
  readonly has: (cid: Address, options: { readonly signal: AbortSignal }) => Promise<boolean>
  readonly signer: RecordSigner
  readonly store: RecordStore
}

export class LocalRecords {
  readonly #options: LocalRecordsOptions

  constructor(options: LocalRecordsOptions) {
    this.#options = options
  }

  /** Our own record first, signed now, if we hold the object and can be reached. */
  async about(cid: Address, signal: AbortSignal): Promise<readonly SignedProviderRecord[]> {
    const { has, signer, store } = this.#options
    const own = (await has(cid, { signal })) ? signer.sign(cid) : undefined
    const others = store.get(cid).filter(({ publisher }) => publisher !== signer.publisher)
    return own === undefined ? others : [own, ...others]
  }
}
