/**
 * In which order providers are shown.
 *
 *     score = bias · regionMatch + (1 − bias) · (½ · 2^(−age / half life) + ½ · latency class)
 *
 * The region is a provider's own claim, so the configuration keeps its weight at a quarter or less; ages come from
 * signed records, and latencies from our own measurements. Nobody signed for `unverified` ones: they come last.
 */
import type { Provider } from '@cairn/routing'
import type { ProviderSet } from './provider-set.ts'

export type ProviderClass = 'region_match' | 'fresh' | 'any' | 'unverified'

export interface RankedProvider {
  readonly provider: Provider
  readonly class: ProviderClass
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

/** The best first; equal scores by id, so that the same facts give the same order everywhere. */
export function rankProviders(providers: ProviderSet, options: RankOptions): RankedProvider[] {
  return providers
    .filter((provider) => isShown(provider, options))
    .map((provider) => ranked(provider, options))
    .sort(inOrder)
}

function isShown({ id, region }: Provider, { allowedRegions, denied }: RankOptions): boolean {
  if (denied.includes(id)) return false
  return allowedRegions.length === 0 || (region !== undefined && allowedRegions.includes(region))
}

function ranked(provider: Provider, options: RankOptions): RankedProvider {
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

function classOf({ record }: Provider, isMatch: boolean, freshness: number): ProviderClass {
  if (record === undefined) return 'unverified'
  if (isMatch) return 'region_match'
  return freshness >= 0.5 ? 'fresh' : 'any'
}

function inOrder(one: RankedProvider, other: RankedProvider): number {
  const unverified = Number(one.class === 'unverified') - Number(other.class === 'unverified')
  if (unverified !== 0) return unverified
  if (one.score !== other.score) return other.score - one.score
  return one.provider.id < other.provider.id ? -1 : 1
}
