/**
 * Records that others announced to us, in memory and bounded in every direction, and what this node can say about an
 * object by itself: its own record and those.
 *
 *     address ──▶ publisher ──▶ newest record            at most 64 publishers for an address,
 *     publisher ──▶ how many addresses                   10 000 addresses for a publisher, 200 000 records in all
 *
 * Who is here first stays: a full key refuses newcomers until one of its records expires, so a flood cannot push out
 * those who were known before it.
 */
import { type Clock, GenerationCache, type Metrics } from '@cairn/kernel'
import type { Crypto } from '@cairn/platform'
import type { Address } from '@cairn/wire'
import type { RecordState } from './metrics.ts'
import { RECORD_TTL_MS, type RecordKey, recordKeyOf, type SignedProviderRecord, signRecordWith } from './record.ts'

// This node's own word on what it holds.

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

export interface LocalRecordsOptions {
  /** Whether this node holds the object. */
  readonly has: (cid: Address, options: { readonly signal: AbortSignal }) => Promise<boolean>
  readonly signer: RecordSigner
  readonly store: ProviderRecordStore
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

export const PROVIDERS_PER_KEY_MAX = 64
export const KEYS_PER_PEER_MAX = 10_000
export const RECORDS_MAX = 200_000

export interface RecordStoreLimits {
  readonly providersPerKey: number
  readonly keysPerPeer: number
  readonly records: number
}

export type PutOutcome = 'accepted' | Extract<RecordState, 'stale' | 'key_full' | 'peer_full' | 'store_full'>

const LIMITS: RecordStoreLimits = {
  providersPerKey: PROVIDERS_PER_KEY_MAX,
  keysPerPeer: KEYS_PER_PEER_MAX,
  records: RECORDS_MAX,
}

export class ProviderRecordStore {
  readonly #clock: Clock
  readonly #metrics: Metrics
  readonly #limits: RecordStoreLimits
  readonly #byAddress = new Map<Address, Map<string, SignedProviderRecord>>()
  readonly #keysOf = new Map<string, number>()
  #size = 0

  constructor(runtime: { readonly clock: Clock; readonly metrics: Metrics }, limits: RecordStoreLimits = LIMITS) {
    this.#clock = runtime.clock
    this.#metrics = runtime.metrics
    this.#limits = limits
  }

  get size(): number {
    return this.#size
  }

  /** Takes a verified record unless a newer one is here or a bound is reached; refusals are counted. */
  put(record: SignedProviderRecord): PutOutcome {
    const outcome = this.#judge(record)
    if (outcome === 'accepted') this.#keep(record)
    else this.#metrics.count('provider_records_total', { state: outcome })
    return outcome
  }

  /** The living records about an address, in the order their publishers came. */
  get(cid: Address): readonly SignedProviderRecord[] {
    const records = this.#byAddress.get(cid)
    if (records === undefined) return []
    this.#dropExpired(cid, records)
    return [...records.values()]
  }

  /** Forgets one publisher's record about an address. */
  delete(cid: Address, publisher: string): void {
    const records = this.#byAddress.get(cid)
    if (records?.has(publisher) === true) this.#remove(cid, records, publisher)
  }

  /** Forgets everything that has expired; a janitor calls this now and then. */
  sweep(): void {
    for (const [cid, records] of this.#byAddress) this.#dropExpired(cid, records)
  }

  /** Everything that is here, expired or not. */
  *[Symbol.iterator](): Iterator<SignedProviderRecord> {
    for (const records of this.#byAddress.values()) yield* records.values()
  }

  #judge({ cid, publisher, seq, exp }: SignedProviderRecord): PutOutcome {
    if (exp * 1000 <= this.#clock.wall()) return 'stale'
    const records = this.#byAddress.get(cid)
    const known = records?.get(publisher)
    if (known !== undefined) return seq > known.seq ? 'accepted' : 'stale'
    if (records !== undefined) this.#dropExpired(cid, records)
    if ((records?.size ?? 0) >= this.#limits.providersPerKey) return 'key_full'
    if ((this.#keysOf.get(publisher) ?? 0) >= this.#limits.keysPerPeer) return 'peer_full'
    return this.#size >= this.#limits.records ? 'store_full' : 'accepted'
  }

  #keep(record: SignedProviderRecord): void {
    const { cid, publisher } = record
    const records = this.#byAddress.get(cid) ?? new Map<string, SignedProviderRecord>()
    this.#byAddress.set(cid, records)
    if (!records.has(publisher)) {
      this.#size += 1
      this.#keysOf.set(publisher, (this.#keysOf.get(publisher) ?? 0) + 1)
    }
    records.set(publisher, record)
  }

  #dropExpired(cid: Address, records: Map<string, SignedProviderRecord>): void {
    const wallMs = this.#clock.wall()
    for (const { publisher, exp } of records.values()) {
      if (exp * 1000 <= wallMs) this.#remove(cid, records, publisher)
    }
  }

  #remove(cid: Address, records: Map<string, SignedProviderRecord>, publisher: string): void {
    records.delete(publisher)
    if (records.size === 0) this.#byAddress.delete(cid)
    const left = (this.#keysOf.get(publisher) ?? 0) - 1
    if (left > 0) this.#keysOf.set(publisher, left)
    else this.#keysOf.delete(publisher)
    this.#size -= 1
  }
}
