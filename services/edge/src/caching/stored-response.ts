/** What is known of a response, as far as caching goes: plain data, computed once when it arrives. */
import { parseHttpDate } from '@cairn/wire'
import { type Directives, parseCacheControl, parseTargeted, SECONDS_MAX } from './cache-control.ts'

/** Lower-case names, one value each. */
export type HeaderMap = Readonly<Record<string, string>>

export interface ResponseHead {
  readonly status: number
  readonly headers: HeaderMap
  /** Wall milliseconds: when the request for it left, and when its header came. */
  readonly requestedAt: number
  readonly receivedAt: number
}

/** How long a response may be used, and how. Times are milliseconds. */
export interface Freshness {
  /** From its birth at the origin; 0 is never without validation. */
  readonly lifetimeMs: number
  /** How old it was when it came. */
  readonly ageAtReceiptMs: number
  readonly receivedAt: number
  /** `no-cache`: not used without asking, however fresh. */
  readonly mustAsk: boolean
  /** `must-revalidate` and its kin: once stale, not used without asking, whatever happens. */
  readonly neverStale: boolean
  readonly staleWhileRevalidateMs: number
  /** Nothing where the origin says nothing about it. */
  readonly staleIfErrorMs: number | undefined
}

/** The directives this cache goes by. */
export function directivesOf(headers: HeaderMap): { readonly directives: Directives; readonly isTargeted: boolean } {
  const targeted = parseTargeted(headers['cdn-cache-control'])
  if (targeted !== undefined) return { directives: targeted, isTargeted: true }
  return { directives: parseCacheControl(headers['cache-control']), isTargeted: false }
}

/** Statuses whose meaning alone lets a cache guess a lifetime (RFC 9110 §15.1). 206 is not kept here. */
const HEURISTIC: ReadonlySet<number> = new Set([200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501])
const HEURISTIC_PART = 0.1
const HEURISTIC_MAX_MS = 24 * 3_600_000

export function isHeuristic(status: number): boolean {
  return HEURISTIC.has(status)
}

export function freshnessOf(head: ResponseHead): Freshness {
  const { directives, isTargeted } = directivesOf(head.headers)
  const seconds = (name: string): number | undefined => {
    const value = directives.seconds(name)
    return value === 'invalid' ? undefined : value
  }
  const neverStale = ['must-revalidate', 'proxy-revalidate', 's-maxage'].some((name) => directives.has(name))
  return {
    lifetimeMs: lifetimeMs(head, directives, isTargeted),
    ageAtReceiptMs: ageAtReceiptMs(head),
    receivedAt: head.receivedAt,
    mustAsk: directives.isPlain('no-cache') || isPragmaOnly(head.headers),
    neverStale: neverStale || directives.has('no-cache'),
    staleWhileRevalidateMs: (seconds('stale-while-revalidate') ?? 0) * 1000,
    staleIfErrorMs: directives.has('stale-if-error') ? (seconds('stale-if-error') ?? 0) * 1000 : undefined,
  }
}

/** `Pragma: no-cache` of an origin that knows no Cache-Control. */
function isPragmaOnly(headers: HeaderMap): boolean {
  return headers['cache-control'] === undefined && /\bno-cache\b/i.test(headers['pragma'] ?? '')
}

function lifetimeMs(head: ResponseHead, directives: Directives, isTargeted: boolean): number {
  for (const name of ['s-maxage', 'max-age']) {
    const seconds = directives.seconds(name)
    if (seconds === 'invalid') return 0
    if (seconds !== undefined) return seconds * 1000
  }
  const { headers, receivedAt, status } = head
  // A targeted field stands for all the others.
  if (isTargeted) return 0
  if (headers['expires'] !== undefined) {
    const expires = dateSeconds(headers['expires'], receivedAt)
    return expires === undefined ? 0 : Math.max(0, expires * 1000 - dateOf(head))
  }
  return isHeuristic(status) || directives.has('public') ? heuristicMs(head) : 0
}

function heuristicMs(head: ResponseHead): number {
  const modified = dateSeconds(head.headers['last-modified'] ?? '', head.receivedAt)
  if (modified === undefined) return 0
  return Math.min(HEURISTIC_MAX_MS, Math.max(0, (dateOf(head) - modified * 1000) * HEURISTIC_PART))
}

function dateOf({ headers, receivedAt }: ResponseHead): number {
  const date = dateSeconds(headers['date'] ?? '', receivedAt)
  return date === undefined ? Math.floor(receivedAt / 1000) * 1000 : date * 1000
}

/** Unix seconds; in any case, though RFC 9110 §5.6.7 wants one: what an origin meant is as clear in another. */
function dateSeconds(text: string, nowMs: number): number | undefined {
  const cased = text.replace(/[A-Za-z]+/g, (word) =>
    word.length === 3 && word.toUpperCase() === 'GMT'
      ? 'GMT'
      : word.charAt(0).toUpperCase() + word.slice(1).toLowerCase(),
  )
  return parseHttpDate(cased, nowMs)
}

/** The first member of a list counts; what is no number of seconds is ignored (RFC 9111 §5.1). */
function ageValueMs(age: string | undefined): number {
  const first = age?.split(',', 1)[0]?.trim() ?? ''
  return /^\d+$/.test(first) ? Math.min(Number(first), SECONDS_MAX) * 1000 : 0
}

/** RFC 9111 §4.2.3. */
function ageAtReceiptMs(head: ResponseHead): number {
  const { headers, requestedAt, receivedAt } = head
  const apparentMs = Math.max(0, Math.floor(receivedAt / 1000) * 1000 - dateOf(head))
  const correctedMs = ageValueMs(headers['age']) + (receivedAt - requestedAt)
  return Math.max(apparentMs, correctedMs)
}

export function ageMs(freshness: Freshness, now: number): number {
  return freshness.ageAtReceiptMs + Math.max(0, now - freshness.receivedAt)
}

/** What is left of its lifetime; negative once it is stale. */
export function ttlMs(freshness: Freshness, now: number): number {
  return freshness.lifetimeMs - ageMs(freshness, now)
}
