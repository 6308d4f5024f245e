/**
 * A bucket for each address that asks, for as long as it is not full again.
 *
 *     oldest ▶ │ a │ b │ c │ ◀ last to ask       a full bucket is as good as none: it is let go, from the oldest on
 *
 * So the table holds whoever asked within the time a bucket needs to fill, and nobody else.
 */
import { type Clock, TokenBucket } from '@cairn/kernel'
import { clientGroup } from './client-address.ts'

/** Past it the oldest is let go before its bucket is full: a flood of addresses costs memory, and no more than this. */
const ADDRESSES_MAX = 100_000

interface Row {
  readonly bucket: TokenBucket
  askedAt: number
}

export class AddressRates {
  readonly #clock: Clock
  readonly #rate: number
  readonly #burst: number
  /** In order of the last question. */
  readonly #rows = new Map<string, Row>()

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
    this.#letGo(now)
    const group = clientGroup(address)
    const row = this.#rows.get(group) ?? this.#newRow(now)
    row.askedAt = now
    this.#rows.delete(group)
    this.#rows.set(group, row)
    return row.bucket.tryTake() ? 0 : Math.max(1, row.bucket.waitMs())
  }

  #newRow(now: number): Row {
    return { bucket: new TokenBucket(this.#clock, { rate: this.#rate, burst: this.#burst }), askedAt: now }
  }

  #letGo(now: number): void {
    const fullAfterMs = (this.#burst / this.#rate) * 1000
    for (const [group, { askedAt }] of this.#rows) {
      if (now - askedAt < fullAfterMs && this.#rows.size < ADDRESSES_MAX) return
      this.#rows.delete(group)
    }
  }
}
