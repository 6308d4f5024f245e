/**
 * In which order providers are shown.
 *
 *     score = bias · regionMatch + (1 − bias) · (½ · 2^(−age / half life) + ½ · latency class)
 *
 * The region is a provider's own claim, so the configuration keeps its weight at a quarter or less; ages come from
 * signed records, and latencies from our own measurements. Nobody signed for `unverified` ones: they come last.
 */
import type { Clock } from '@cairn/kernel'
import type { Provider } from '@cairn/routing'
import type { Address } from '@cairn/wire'
import { fairOrder } from './fair-order.ts'
import type { KnownProviders } from './known-providers.ts'

// Providers that were reported for an object: left out of its answers for a while. Bounded; the oldest report goes first.

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
  without(cid: Address, providers: KnownProviders): KnownProviders {
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

/** How fast providers answered us, as far as we asked them: a moving value each, the least recent forgotten first. */
const LATENCIES_MAX = 10_000
const LATENCY_WEIGHT = 0.25

export class Latencies {
  readonly #ms = new Map<string, number>()

  note(id: string, ms: number): void {
    const before = this.#ms.get(id)
    this.#ms.delete(id)
    this.#ms.set(id, before === undefined ? ms : before + (ms - before) * LATENCY_WEIGHT)
    const [oldest] = this.#ms.keys()
    if (this.#ms.size > LATENCIES_MAX && oldest !== undefined) this.#ms.delete(oldest)
  }

  readonly of = (id: string): number | undefined => this.#ms.get(id)
}

export type RankClass = 'region_match' | 'fresh' | 'any' | 'unverified'

export interface ScoredProvider {
  readonly provider: Provider
  readonly class: RankClass
  /** 0 to 1. */
  readonly score: number
}

export interface RankOptions {
  readonly nowMs: number
  /** Where the client is, if it says so. */
  readonly region: string | undefined
  readonly regionBias: number
  readonly halfLifeMs: number
  /** Upper bounds of the latency classes but the last. */
  readonly latencyBucketsMs: readonly number[]
  /** What we measured; undefined for whom we never asked. */
  readonly latencyMs: (id: string) => number | undefined
  readonly allowedRegions: readonly string[]
  readonly denied: readonly string[]
}

/**
 * The best first, by turns of those who named them: sixty fresh keys of one source do not stand before the first of
 * another. Equal scores by id, so that the same facts give the same order everywhere.
 */
export function rankProviders(providers: KnownProviders, options: RankOptions): ScoredProvider[] {
  const scored = providers.filter((provider) => isShown(provider, options)).map((provider) => ranked(provider, options))
  const [verified, unverified] = [scored.filter(isVerified), scored.filter((each) => !isVerified(each))]
  return [verified, unverified].flatMap((each) => fairOrder(each, ({ provider }) => provider, byScore))
}

function isVerified({ class: each }: ScoredProvider): boolean {
  return each !== 'unverified'
}

function isShown({ id, region }: Provider, { allowedRegions, denied }: RankOptions): boolean {
  if (denied.includes(id)) return false
  return allowedRegions.length === 0 || (region !== undefined && allowedRegions.includes(region))
}

function ranked(provider: Provider, options: RankOptions): ScoredProvider {
  const { region, regionBias, halfLifeMs, nowMs } = options
  const isMatch = region !== undefined && provider.region === region
  const freshness = 2 ** (-Math.max(0, nowMs - provider.seenAtMs) / halfLifeMs)
  const latency = latencyClass(options.latencyMs(provider.id), options.latencyBucketsMs)
  const score = regionBias * Number(isMatch) + (1 - regionBias) * (freshness / 2 + latency / 2)
  return { provider, score: Math.round(score * 1e6) / 1e6, class: classOf(provider, isMatch, freshness) }
}

/** 1, .75, .5, .25, 0 by bucket; in the middle for whom we never asked. */
export function latencyClass(ms: number | undefined, bounds: readonly number[]): number {
  if (ms === undefined) return 0.5
  const bucket = bounds.findIndex((bound) => ms <= bound)
  return bucket < 0 ? 0 : 1 - bucket / bounds.length
}

function classOf({ record }: Provider, isMatch: boolean, freshness: number): RankClass {
  if (record === undefined) return 'unverified'
  if (isMatch) return 'region_match'
  return freshness >= 0.5 ? 'fresh' : 'any'
}

function byScore(one: ScoredProvider, other: ScoredProvider): number {
  if (one.score !== other.score) return other.score - one.score
  return one.provider.id < other.provider.id ? -1 : 1
}
