/**
 * Whether a stored response answers a request (RFC 9111 §4, RFC 5861).
 *
 *     fresh ──▶ use        stale, within stale-while-revalidate ──▶ use, and ask in the background
 *     stale, or to be asked about ──▶ validate ──┬── 304, 200 ──▶ use what came
 *                                                └── error ──▶ use the stale one, where nobody forbids it
 */
import { type Directives, parseCacheControl, splitList } from './cache-control.ts'
import { ageMs, type Freshness, type HeaderMap, ttlMs } from './stored-response.ts'

// Which of the stored responses of a key a request may be given (RFC 9111 §4.1).

/** Name and normalised value of each selecting field; no value where the request had none. */
export type Selecting = readonly (readonly [name: string, value: string | undefined])[]

export type FieldOf = (name: string) => string | undefined

/** The values a request has in the fields a response varies on. */
export function selectingOf(names: readonly string[], fieldOf: FieldOf): Selecting {
  return names.map((name) => [name, normalised(name, fieldOf(name))] as const)
}

/** Whether the request is selected by the same; a language it likes best is the one it would be given. */
export function isSelected(selecting: Selecting, fieldOf: FieldOf, contentLanguage?: string): boolean {
  return selecting.every(([name, value]) => {
    const asked = fieldOf(name)
    if (normalised(name, asked) === value) return true
    return name === 'accept-language' && prefersLanguage(asked, contentLanguage)
  })
}

/** Fields whose members' order says nothing, because each has its own weight; and whose case says nothing. */
const WEIGHTED: ReadonlySet<string> = new Set(['accept', 'accept-language', 'accept-encoding', 'accept-charset'])

/** One spelling of a field: fields combined, white space around members gone, and for weighted lists a fixed order. */
function normalised(name: string, value: string | undefined): string | undefined {
  if (value === undefined) return undefined
  const members = splitList(value)
  if (!WEIGHTED.has(name)) return members.join(',')
  const plain = members.map((member) => member.toLowerCase().replace(/\s+/g, '')).map(fullWeight)
  return plain.sort().join(',')
}

/** `en;q=1.0` is `en`. */
function fullWeight(member: string): string {
  return member.replace(/;q=1(?:\.0{0,3})?$/, '')
}

function prefersLanguage(acceptLanguage: string | undefined, contentLanguage: string | undefined): boolean {
  if (acceptLanguage === undefined || contentLanguage === undefined) return false
  let best = { language: '', weight: 0 }
  for (const member of splitList(acceptLanguage.toLowerCase())) {
    const [language = '', ...parameters] = member.split(';').map((part) => part.trim())
    const weight = Number(parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? 1)
    if (weight > best.weight) best = { language, weight }
  }
  return best.language === contentLanguage.trim().toLowerCase()
}

/** What this cache did with a request, in the words of RFC 9211. */

export type CacheOutcome =
  | { readonly tag: 'hit'; readonly ttlMs: number }
  | {
      readonly tag: 'forwarded'
      /** Why the upstream was asked. */
      readonly why: 'uri-miss' | 'vary-miss' | 'stale' | 'request' | 'bypass' | 'method'
      readonly status?: number
      readonly stored?: boolean
      /** The answer of a fill that somebody else began. */
      readonly collapsed?: boolean
    }
  /** A stale response for an upstream that failed. */
  | { readonly tag: 'stood-in'; readonly ttlMs: number; readonly detail: string }

const CACHE_NAME = 'cairn-edge'

export function cacheStatus(outcome: CacheOutcome): string {
  switch (outcome.tag) {
    case 'hit':
      return `${CACHE_NAME}; hit; ttl=${wholeSeconds(outcome.ttlMs)}`
    case 'forwarded': {
      const status = outcome.status === undefined ? '' : `; fwd-status=${outcome.status}`
      const stored = outcome.stored === true ? '; stored' : ''
      return `${CACHE_NAME}; fwd=${outcome.why}${status}${stored}${outcome.collapsed === true ? '; collapsed' : ''}`
    }
    case 'stood-in':
      return `${CACHE_NAME}; hit; ttl=${wholeSeconds(outcome.ttlMs)}; detail=${outcome.detail}`
  }
}

function wholeSeconds(ms: number): number {
  return Math.floor(ms / 1000)
}

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
export function validatorsOf(stored: HeaderMap): HeaderMap {
  const { etag, 'last-modified': lastModified } = stored
  return {
    ...(etag === undefined ? {} : { 'if-none-match': etag }),
    ...(lastModified === undefined ? {} : { 'if-modified-since': lastModified }),
  }
}
