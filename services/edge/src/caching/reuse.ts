/**
 * Whether a stored response answers a request (RFC 9111 §4, RFC 5861).
 *
 *     fresh ──▶ use        stale, within stale-while-revalidate ──▶ use, and ask in the background
 *     stale, or to be asked about ──▶ validate ──┬── 304, 200 ──▶ use what came
 *                                                └── error ──▶ use the stale one, where nobody forbids it
 */
import { type Directives, parseCacheControl } from './cache-control.ts'
import { ageMs, type Freshness, type Headers, ttlMs } from './stored-response.ts'

/** What a client asks of caches. */
export interface RequestDirectives {
  readonly directives: Directives
  readonly mustAsk: boolean
  readonly onlyIfCached: boolean
}

export function requestDirectives(cacheControl: string | undefined, pragma: string | undefined): RequestDirectives {
  const directives = parseCacheControl(cacheControl)
  const isPragma = cacheControl === undefined && /(?:^|,)\s*no-cache\s*(?:,|$)/i.test(pragma ?? '')
  return {
    directives,
    mustAsk: directives.has('no-cache') || isPragma,
    onlyIfCached: directives.has('only-if-cached'),
  }
}

export type Use = 'fresh' | 'stale-while-revalidate' | 'validate'

export function useOf(freshness: Freshness, request: RequestDirectives, now: number): Use {
  if (freshness.mustAsk || request.mustAsk) return 'validate'
  const left = ttlMs(freshness, now)
  const { directives } = request
  const limit = (name: string): number | undefined => {
    const seconds = directives.seconds(name)
    // A limit nobody can read is taken as the strictest.
    return seconds === 'invalid' ? 0 : seconds === undefined ? undefined : seconds * 1000
  }
  const ageMaxMs = limit('max-age')
  if (ageMaxMs !== undefined && ageMs(freshness, now) > ageMaxMs) return 'validate'
  if (ageMaxMs === 0) return 'validate'
  if (left > (limit('min-fresh') ?? 0)) return 'fresh'
  if (freshness.neverStale || directives.has('min-fresh')) return 'validate'
  if (directives.has('max-stale')) {
    const staleMaxMs = directives.isPlain('max-stale') ? Number.POSITIVE_INFINITY : limit('max-stale')
    if (staleMaxMs !== undefined && -left <= staleMaxMs) return 'fresh'
  }
  return -left < freshness.staleWhileRevalidateMs ? 'stale-while-revalidate' : 'validate'
}

/** How long past its lifetime a response stands in for an upstream that fails, where the origin gives no number. */
const STALE_IF_ERROR_MS = 24 * 3_600_000

/** Whether the stale response may stand in for an upstream that fails, or cannot be asked. */
export function mayStandIn(freshness: Freshness, now: number): boolean {
  if (freshness.mustAsk || freshness.neverStale) return false
  return -ttlMs(freshness, now) < (freshness.staleIfErrorMs ?? STALE_IF_ERROR_MS)
}

/** The fields that ask the upstream whether the stored response still holds; none where it has no validator. */
export function validatorsOf(stored: Headers): Headers {
  const { etag, 'last-modified': lastModified } = stored
  return {
    ...(etag === undefined ? {} : { 'if-none-match': etag }),
    ...(lastModified === undefined ? {} : { 'if-modified-since': lastModified }),
  }
}
