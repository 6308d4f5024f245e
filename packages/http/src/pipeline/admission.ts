/**
 * Who is let in: a rate, a number in flight, a number of streams.
 *
 *     request ─▶ rate ─▶ in flight ≤ max_inflight ─▶ handler ─┬─▶ answered
 *                  │         └─▶ 429                          └─▶ streams ≤ max_streams ─▶ body sent
 *                  └─▶ 429
 */
import { CairnError, type Clock, type Runtime, TokenBucket } from '@cairn/kernel'
import { clientGroup } from '../request/client-address.ts'
import type { IngressConfig } from './config.ts'

/*
 * A token bucket for each client address, for as long as it is not full again.
 *
 *     oldest ▶ │ a │ b │ c │ ◀ last to ask       a full bucket is as good as none: it is evicted, the oldest first
 *
 * So the table holds the addresses that asked within the time a bucket needs to fill, and no others.
 */

/** Past it the oldest is evicted before its bucket is full: a flood of addresses costs memory, and no more than this. */
const ADDRESSES_MAX = 100_000

interface AddressBucket {
  readonly bucket: TokenBucket
  lastRequestAt: number
}

export class AddressRates {
  readonly #clock: Clock
  readonly #rate: number
  readonly #burst: number
  /** In order of the last question. */
  readonly #rows = new Map<string, AddressBucket>()

  constructor(clock: Clock, rate: number, burst: number) {
    this.#clock = clock
    this.#rate = rate
    this.#burst = burst
  }

  get size(): number {
    return this.#rows.size
  }

  /** Milliseconds until this address may ask again; 0 if it may now, and has. */
  take(address: string): number {
    const now = this.#clock.now()
    this.#evict(now)
    const group = clientGroup(address)
    const row = this.#rows.get(group) ?? this.#newRow(now)
    row.lastRequestAt = now
    this.#rows.delete(group)
    this.#rows.set(group, row)
    return row.bucket.tryTake() ? 0 : Math.max(1, row.bucket.waitMs())
  }

  #newRow(now: number): AddressBucket {
    return { bucket: new TokenBucket(this.#clock, { rate: this.#rate, burst: this.#burst }), lastRequestAt: now }
  }

  #evict(now: number): void {
    const fullAfterMs = (this.#burst / this.#rate) * 1000
    for (const [group, { lastRequestAt: askedAt }] of this.#rows) {
      if (now - askedAt < fullAfterMs && this.#rows.size < ADDRESSES_MAX) return
      this.#rows.delete(group)
    }
  }
}

/** What one address may ask the ops routes a second, and at once: many times what its probes need, and still bounded. */
const OPS_RATE = 100
const OPS_BURST = 200

/** The code of a rate at its bound; `busy` to the clients of a service that has no name of its own for it. */
export const RATE_CAP = 'rate_cap'

/** `own` is that of a route whose handler counts itself; here it only holds up a shutdown. */
export type AdmissionSlot = 'inflight' | 'stream' | 'own'

export class Admission {
  readonly #runtime: Runtime
  readonly #ops: AddressRates
  #bucket: TokenBucket | undefined
  #byAddress: AddressRates | undefined
  #config: IngressConfig
  #decodedBytes = 0
  readonly #taken: Record<AdmissionSlot, number> = { inflight: 0, stream: 0, own: 0 }

  constructor(runtime: Runtime, config: IngressConfig) {
    this.#runtime = runtime
    this.#ops = new AddressRates(runtime.clock, OPS_RATE, OPS_BURST)
    this.#config = config
    this.#bucket = bucketOf(runtime, config)
    this.#byAddress = ratesOf(runtime, config)
  }

  /** Sets the limits for later requests; those admitted already stay. */
  reconfigure(config: IngressConfig): void {
    const isSameRate = config.max_rps === this.#config.max_rps && config.burst === this.#config.burst
    if (!isSameRate) this.#bucket = bucketOf(this.#runtime, config)
    const { max_rps_per_address: rate, burst_per_address: burst } = this.#config
    if (config.max_rps_per_address !== rate || config.burst_per_address !== burst)
      this.#byAddress = ratesOf(this.#runtime, config)
    this.#config = config
  }

  /** A bucket for each address, so that no client can starve the probes of another. */
  takeOpsOf(address: string): void {
    const waitMs = this.#ops.take(address)
    if (waitMs > 0) throw busy('Too many metrics and version requests from one address; ask less often.', waitMs)
  }

  /** What one client may ask; judged first, so that who is over it takes nothing from the others. */
  takeRateOf(address: string): void {
    const waitMs = address === '' ? 0 : (this.#byAddress?.take(address) ?? 0)
    if (waitMs === 0) return
    this.#runtime.metrics.count('quota_exhaustions_total', { kind: 'ip' })
    throw tooOften(`One address may ask ${this.#config.max_rps_per_address} times a second here; slow down.`, waitMs)
  }

  /** What all clients together may. */
  takeRate(): void {
    if (this.#bucket === undefined || this.#bucket.tryTake()) return
    this.#runtime.metrics.count('quota_exhaustions_total', { kind: 'rps' })
    throw tooOften(`This service takes ${this.#config.max_rps} requests a second; slow down.`, this.#bucket.waitMs())
  }

  /** Takes a seat that `release` must give back. */
  take(seat: AdmissionSlot): void {
    const max = seat === 'inflight' ? this.#config.max_inflight : this.#config.max_streams
    if (seat !== 'own' && this.#taken[seat] >= max) {
      const { name, quota } = SLOT_KINDS[seat]
      this.#runtime.metrics.count('quota_exhaustions_total', { kind: quota })
      throw busy(`${max} ${name} are open; try again soon.`)
    }
    this.#taken[seat] += 1
  }

  release(seat: AdmissionSlot): void {
    this.#taken[seat] -= 1
  }

  /** Memory that coded bodies may decode to; `releaseDecoded` must give it back. One body alone always fits. */
  takeDecoded(bytes: number): void {
    const isOver = this.#decodedBytes + bytes > this.#config.decompress_max_total_bytes
    if (isOver && this.#decodedBytes > 0) {
      this.#runtime.metrics.count('quota_exhaustions_total', { kind: 'decoded_bytes' })
      throw busy('Too many coded bodies are being decoded; try again soon, or send the body without coding.')
    }
    this.#decodedBytes += bytes
  }

  releaseDecoded(bytes: number): void {
    this.#decodedBytes -= bytes
  }

  get open(): number {
    return this.#taken.inflight + this.#taken.stream + this.#taken.own
  }
}

const SLOT_KINDS: Readonly<Record<Exclude<AdmissionSlot, 'own'>, { readonly name: string; readonly quota: string }>> = {
  inflight: { name: 'requests', quota: 'inflight' },
  stream: { name: 'streams', quota: 'streams' },
}

function ratesOf({ clock }: Runtime, config: IngressConfig): AddressRates | undefined {
  const { max_rps_per_address: rate, burst_per_address: burst } = config
  return rate === 0 ? undefined : new AddressRates(clock, rate, burst)
}

function bucketOf({ clock }: Runtime, { max_rps, burst }: IngressConfig): TokenBucket | undefined {
  return max_rps === 0 ? undefined : new TokenBucket(clock, { rate: max_rps, burst })
}

function tooOften(detail: string, waitMs: number): CairnError {
  return new CairnError('Busy', detail, { code: RATE_CAP, retryAfterMs: Math.max(1, waitMs) })
}

function busy(detail: string, retryAfterMs = 1000): CairnError {
  return new CairnError('Busy', detail, { retryAfterMs: Math.max(1, retryAfterMs) })
}
