/** This node's own word on what it holds. */
import type { Clock } from '@cairn/kernel'
import type { Crypto } from '@cairn/platform'
import type { Address } from '@cairn/wire'
import { RECORD_TTL_MS, type RecordKey, recordKeyOf, type SignedProviderRecord, signRecordWith } from './record.ts'

export interface RecordSignerOptions {
  readonly crypto: Crypto
  readonly clock: Clock
  /** The node identity's 32-byte seed. */
  readonly seed: Uint8Array
  /** Where others reach this node, now. */
  readonly urls: () => readonly string[]
  readonly region?: string | undefined
}

export class RecordSigner {
  readonly #options: RecordSignerOptions
  readonly #key: RecordKey
  #seq = 0

  constructor(options: RecordSignerOptions) {
    this.#options = options
    this.#key = recordKeyOf(options.crypto, options.seed)
  }

  /** The peer id under which this node signs. */
  get publisher(): string {
    return this.#key.publisher
  }

  /** A record for the next 24 hours; undefined while nobody can reach this node. */
  sign(cid: Address): SignedProviderRecord | undefined {
    const { clock, urls, region } = this.#options
    const http = urls()
    if (http.length === 0) return undefined
    const wallMs = Math.floor(clock.wall())
    // The wall clock, so that a restart goes on above; but never twice the same, nor back with the clock.
    this.#seq = Math.max(this.#seq + 1, wallMs)
    const claim = { cid, http, seq: this.#seq, exp: Math.floor((wallMs + RECORD_TTL_MS) / 1000) }
    return signRecordWith(this.#key, region === undefined ? claim : { ...claim, region })
  }
}
