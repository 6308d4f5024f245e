/** One participant of a test: a key, a clock, what it holds, and everything that is counted. */
import { KERNEL_METRICS, MemoryLog, MemoryMetrics, type Runtime, SystemClock, systemRuntime } from '@cairn/kernel'
import { systemCrypto } from '@cairn/platform'
import { type Address, addressOf, decodeCbor } from '@cairn/wire'
import { DialPolicy, type DialPolicyOptions } from '../src/dial-policy.ts'
import { KadRouting } from '../src/kad-routing.ts'
import { ROUTING_METRICS } from '../src/metrics.ts'
import { LocalRecords, ProviderRecordStore, RecordSigner } from '../src/provider-record-store.ts'
import type { SignedProviderRecord } from '../src/record.ts'
import { RecordGate } from '../src/record-gate.ts'

export const METRICS = { ...KERNEL_METRICS, ...ROUTING_METRICS }

/** Metrics that remember each number of hops. */
export class PeerMetrics extends MemoryMetrics {
  readonly hops: number[] = []

  constructor() {
    super(METRICS)
  }

  override observe(name: string, value: number, labels?: Readonly<Record<string, string>>): void {
    if (name === 'dht_lookup_hops_histogram') this.hops.push(value)
    super.observe(name, value, labels)
  }

  refused(state: string): number {
    return this.value('provider_records_total', { state })
  }
}

/** A different 32-byte seed for each number. */
export function seedOf(number: number): Uint8Array {
  const seed = new Uint8Array(32).fill(7)
  new DataView(seed.buffer).setUint32(0, number)
  return seed
}

/** A different address for each name. */
export function addressNamed(name: string): Address {
  return addressOf(new TextEncoder().encode(name))
}

/** The fields of a record, to be tampered with. */
export function fieldsOf({ bytes }: { readonly bytes: Uint8Array }): Record<string, unknown> {
  const fields = decodeCbor(bytes)
  return typeof fields === 'object' && fields !== null ? { ...fields } : {}
}

export interface PeerOptions {
  readonly number: number
  readonly url?: string
  readonly reach?: DialPolicyOptions
  /** Its time does not pass: what is granted by the second is granted once, however slow the machine is. */
  readonly isFrozen?: boolean
}

/** Timers run; nothing else tells that time passes. */
class FrozenClock extends SystemClock {
  override now(): number {
    return 0
  }
}

export interface KadOptions {
  readonly bootstrap?: readonly string[]
  readonly transport?: 'tcp' | 'memory'
  readonly bucketSize?: number
  /** What it answers instead of its own records. */
  readonly records?: (cid: Address) => readonly { readonly bytes: Uint8Array }[]
}

export class Peer {
  readonly number: number
  readonly metrics = new PeerMetrics()
  readonly runtime: Runtime
  readonly held = new Set<Address>()
  readonly store: ProviderRecordStore
  readonly reach: DialPolicy
  readonly gate: RecordGate
  readonly signer: RecordSigner
  readonly local: LocalRecords

  constructor({
    number,
    url = `http://127.0.0.1:${10_000 + number}`,
    reach = { allowLoopback: true },
    isFrozen = false,
  }: PeerOptions) {
    const system = systemRuntime(new MemoryLog(), this.metrics)
    this.runtime = isFrozen ? { ...system, clock: new FrozenClock() } : system
    this.store = new ProviderRecordStore(this.runtime)
    const { clock } = this.runtime
    this.number = number
    this.reach = new DialPolicy(reach)
    this.gate = new RecordGate({ crypto: systemCrypto, clock, metrics: this.metrics, reach: () => this.reach })
    this.signer = new RecordSigner({ crypto: systemCrypto, clock, seed: seedOf(number), urls: () => [url] })
    this.local = new LocalRecords({ has: async (cid) => this.held.has(cid), signer: this.signer, store: this.store })
  }

  /** Holds an object from now on, and says so in a record. */
  hold(cid: Address): SignedProviderRecord {
    this.held.add(cid)
    const record = this.signer.sign(cid)
    if (record === undefined) throw new Error('This peer has no URL.')
    return record
  }

  /** Its DHT node, over the memory transport unless told. */
  kad({ bootstrap = [], transport = 'memory', bucketSize = 20, records }: KadOptions = {}): KadRouting {
    return new KadRouting(this.runtime, {
      seed: seedOf(this.number),
      crypto: systemCrypto,
      gate: this.gate,
      reach: () => this.reach,
      records: async (cid, signal) => lies(records?.(cid)) ?? (await this.local.about(cid, signal)),
      listen: [transport === 'memory' ? `/memory/peer-${this.number}` : '/ip4/127.0.0.1/tcp/0'],
      bootstrap,
      transport,
      bucketSize,
    })
  }
}

/** Only the bytes travel. */
function lies(records: readonly { readonly bytes: Uint8Array }[] | undefined): SignedProviderRecord[] | undefined {
  const blank = { cid: addressNamed(''), publisher: '', http: [], seq: 0, exp: 0 }
  return records?.map(({ bytes }) => ({ ...blank, bytes }))
}
