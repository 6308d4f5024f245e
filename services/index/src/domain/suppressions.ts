/** Providers that were reported for an object: left out of its answers for a while. Bounded; the oldest report goes first. */
import type { Clock } from '@cairn/kernel'
import type { Address } from '@cairn/wire'
import type { ProviderSet } from './provider-set.ts'

const REPORTS_MAX = 10_000
/** Long enough for a client to fetch elsewhere, short enough for a provider to be repaired and come back. */
const SUPPRESSED_MS = 10 * 60_000

export class Suppressions {
  readonly #clock: Clock
  readonly #until = new Map<string, number>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  report(cid: Address, provider: string): void {
    const key = `${cid} ${provider}`
    this.#until.delete(key)
    this.#until.set(key, this.#clock.now() + SUPPRESSED_MS)
    const [oldest] = this.#until.keys()
    if (this.#until.size > REPORTS_MAX && oldest !== undefined) this.#until.delete(oldest)
  }

  /** Those of the set that nobody complained about. */
  without(cid: Address, providers: ProviderSet): ProviderSet {
    if (this.#until.size === 0) return providers
    return providers.filter(({ id }) => !this.#isReported(`${cid} ${id}`))
  }

  #isReported(key: string): boolean {
    const until = this.#until.get(key)
    if (until === undefined) return false
    if (this.#clock.now() < until) return true
    this.#until.delete(key)
    return false
  }
}
