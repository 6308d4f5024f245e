/** How many requests of one route may wait for lookups at once, and how many there may be in a minute. */
import { type Runtime, TokenBucket } from '@cairn/kernel'
import type { IndexConfig } from './config.ts'
import { overQuota, routeFull } from './errors.ts'

export type LookupRoute = 'resolve' | 'providers' | 'routing'

/** What a lookup costs in a bucket that counts in sixtieths: buckets refill by the second, quotas are by the minute. */
const COST = 60

interface Quota {
  readonly perMinute: number
  readonly bucket: TokenBucket | undefined
}

export class Admission {
  readonly #runtime: Runtime
  readonly #config: () => IndexConfig
  readonly #inside: Record<LookupRoute, number> = { resolve: 0, providers: 0, routing: 0 }
  readonly #quotas = new Map<'resolves' | 'provider lookups', Quota>()

  constructor(runtime: Runtime, config: () => IndexConfig) {
    this.#runtime = runtime
    this.#config = config
  }

  /** A place that must be given back, or `Busy`. */
  enter(route: LookupRoute): Disposable {
    const { limits } = this.#config()
    if (this.#inside[route] >= limits.max_per_route) {
      this.#runtime.metrics.count('admission_rejections_total', { reason: 'route' })
      throw routeFull(limits.max_per_route)
    }
    this.#inside[route] += 1
    return {
      [Symbol.dispose]: () => {
        this.#inside[route] -= 1
      },
    }
  }

  /** Counts one question against the minute's quota, cached or not. */
  take(route: LookupRoute): void {
    const { resolves_per_minute: resolves, providers_per_minute: providers } = this.#config().limits
    if (route === 'resolve') this.#takeFrom('resolves', resolves)
    else this.#takeFrom('provider lookups', providers)
  }

  #takeFrom(what: 'resolves' | 'provider lookups', perMinute: number): void {
    if (perMinute === 0) return
    const bucket = this.#bucket(what, perMinute)
    if (bucket === undefined || bucket.tryTake(COST)) return
    this.#runtime.metrics.count('admission_rejections_total', { reason: 'quota' })
    throw overQuota(what, perMinute, bucket.waitMs(COST))
  }

  /** A new limit begins with a full bucket. */
  #bucket(what: 'resolves' | 'provider lookups', perMinute: number): TokenBucket | undefined {
    const known = this.#quotas.get(what)
    if (known?.perMinute === perMinute) return known.bucket
    const bucket = new TokenBucket(this.#runtime.clock, { rate: perMinute, burst: COST * perMinute })
    this.#quotas.set(what, { perMinute, bucket })
    return bucket
  }
}
