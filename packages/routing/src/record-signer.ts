/** This node's own word on what it holds. */
import { type Clock, GenerationCache } from '@cairn/kernel'
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

/** How long a record is handed out again: its day is hardly shorter by it. */
const AGAIN_MS = 60_000
/** In two generations, at most a few megabytes. */
const GENERATION_MAX = 2048

interface Signed {
  readonly record: SignedProviderRecord
  readonly wallMs: number
}

export class RecordSigner {
  readonly #options: RecordSignerOptions
  readonly #key: RecordKey
  readonly #signed = new GenerationCache<Signed>(GENERATION_MAX)
  #seq = 0

  constructor(options: RecordSignerOptions) {
    this.#options = options
    this.#key = recordKeyOf(options.crypto, options.seed)
  }

  /** The peer id under which this node signs. */
  get publisher(): string {
    return this.#key.publisher
  }

  /** A record for the next 24 hours, or one that is less than a minute old; undefined while no peer can reach this node. */
  sign(cid: Address): SignedProviderRecord | undefined {
    const { clock, urls } = this.#options
    const http = urls()
    if (http.length === 0) return undefined
    const wallMs = Math.floor(clock.wall())
    const last = this.#signed.get(cid)
    if (last !== undefined && isAsGood(last, http, wallMs)) return last.record
    const record = this.#sign(cid, http, wallMs)
    this.#signed.add(cid, { record, wallMs })
    return record
  }

  #sign(cid: Address, http: readonly string[], wallMs: number): SignedProviderRecord {
    const { region } = this.#options
    // The wall clock, so that a restart goes on above; but never twice the same, nor back with the clock.
    this.#seq = Math.max(this.#seq + 1, wallMs)
    const claim = { cid, http, seq: this.#seq, exp: Math.floor((wallMs + RECORD_TTL_MS) / 1000) }
    return signRecordWith(this.#key, region === undefined ? claim : { ...claim, region })
  }
}

/** Whether signing now would say hardly more. */
function isAsGood(last: Signed, http: readonly string[], wallMs: number): boolean {
  const { http: urls } = last.record
  const ageMs = wallMs - last.wallMs
  return ageMs >= 0 && ageMs < AGAIN_MS && urls.length === http.length && urls.every((url, at) => url === http[at])
}
