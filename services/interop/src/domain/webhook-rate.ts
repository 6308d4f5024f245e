/**
 * The rate of webhooks that are genuine. It is judged once a signature is: what is not genuine takes nothing from what is,
 * however much of it comes.
 */
import { type Runtime, TokenBucket } from '@cairn/kernel'
import { refusal } from '../errors.ts'

export interface RateLimits {
  /** 0 is no limit. */
  readonly max_rps: number
  readonly burst: number
}

export class WebhookRate {
  readonly #runtime: Runtime
  readonly #limits: () => RateLimits
  #current: RateLimits = { max_rps: 0, burst: 0 }
  #bucket: TokenBucket | undefined

  constructor(runtime: Runtime, limits: () => RateLimits) {
    this.#runtime = runtime
    this.#limits = limits
  }

  /** `RATE_LIMIT` if there were as many as there may be. */
  take(): void {
    const { max_rps: rate, burst } = this.#limits()
    if (rate !== this.#current.max_rps || burst !== this.#current.burst) {
      this.#current = { max_rps: rate, burst }
      this.#bucket = rate === 0 ? undefined : new TokenBucket(this.#runtime.clock, { rate, burst })
    }
    if (this.#bucket === undefined || this.#bucket.tryTake()) return
    this.#runtime.metrics.count('quota_exhaustions_total', { kind: 'rps' })
    const waitMs = Math.max(1, this.#bucket.waitMs())
    throw refusal('RATE_LIMIT', `This service takes ${rate} webhooks a second; slow down.`, waitMs)
  }
}
