/** A stored response as an answer to the next client. */
import { entityTagOf, parseHttpDate } from '@cairn/wire'
import { type CacheOutcome, cacheStatus } from '../caching/reuse.ts'
import { ageMs, type Freshness, type HeaderMap } from '../caching/stored-response.ts'
import type { Cas } from '../cas/cas.ts'
import type { StoredEntry } from '../cas/entry.ts'
import { SANDBOXED } from './response-headers.ts'
import type { Representation } from './serve.ts'

/** What is worked out of an entry once, for as long as it is kept. */
interface PreparedHeaders {
  readonly headers: readonly string[]
  readonly cachingHeaders: readonly string[]
  readonly etag: string | undefined
  readonly lastModified: number | undefined
}

/** Describes the bytes: a 304 has none. */
const OF_THE_BYTES: ReadonlySet<string> = new Set([
  'content-type',
  'content-encoding',
  'content-language',
  'content-disposition',
  'content-md5',
  'content-digest',
  'accept-ranges',
])
/** Said anew by every cache on the way, or by whoever frames the answer. */
const OWN: ReadonlySet<string> = new Set(['age', 'content-type', 'accept-ranges'])

export class EntryAnswers {
  readonly #cas: Cas
  readonly #prepared = new WeakMap<StoredEntry, PreparedHeaders>()

  constructor(cas: Cas) {
    this.#cas = cas
  }

  representation(entry: StoredEntry, now: number, outcome: CacheOutcome): Representation {
    const { headers, cachingHeaders, etag, lastModified } = this.#prepare(entry)
    const told = ageAndCacheHeaders(entry.freshness, now, outcome)
    const { body } = entry
    return {
      status: entry.status,
      size: body.size,
      etag,
      lastModified,
      type: entry.headers['content-type'],
      headers: [...headers, ...told],
      cachingHeaders: [...cachingHeaders, ...told],
      whole: () => {
        const held = this.#cas.hot(body)
        return held === undefined ? undefined : { bytes: held.bytes, held }
      },
      read: (range) => this.#cas.read(body, range),
    }
  }

  #prepare(entry: StoredEntry): PreparedHeaders {
    const known = this.#prepared.get(entry)
    if (known !== undefined) return known
    const { etag: given, 'last-modified': modified, date } = entry.headers
    const address = entityTagOf(entry.body.address)
    // Where the origin has no tag, the bytes have one.
    const etag = given ?? (entry.status === 200 ? address : undefined)
    const own = given === undefined && etag !== undefined ? ['ETag', etag] : []
    const described = ['X-Cairn-Address', entry.body.address, ...own]
    const ranges = entry.status === 200 ? ['Accept-Ranges', 'bytes'] : []
    const prepared = {
      headers: [...headerArray(withVary(entry.headers), OWN), ...described, ...ranges, ...SANDBOXED],
      cachingHeaders: [...cachingHeaders(entry.headers), ...described],
      etag,
      // A response without a date of change has not changed since it was made (RFC 9111 §4.3.2).
      lastModified: parseHttpDate(modified ?? date ?? '', entry.receivedAt),
    }
    this.#prepared.set(entry, prepared)
    return prepared
  }
}

/** The age, and what the cache did. */
export function ageAndCacheHeaders(freshness: Freshness, now: number, outcome: CacheOutcome): string[] {
  const age = ageMs(freshness, now)
  const isOld = outcome.tag !== 'forwarded' || freshness.ageAtReceiptMs >= 1000
  return [...(isOld ? ['Age', String(Math.floor(age / 1000))] : []), 'Cache-Status', cacheStatus(outcome)]
}

export function headerArray(headers: HeaderMap, ...without: ReadonlySet<string>[]): string[] {
  return Object.entries(headers).flatMap(([name, value]) => (without.some((set) => set.has(name)) ? [] : [name, value]))
}

/** Those a 304 repeats. */
export function cachingHeaders(headers: HeaderMap): string[] {
  return headerArray(withVary(headers), OF_THE_BYTES, OWN)
}

/** A coded body is one of several representations. */
export function withVary(headers: HeaderMap): HeaderMap {
  if (headers['content-encoding'] === undefined) return headers
  const vary = headers['vary']
  if (vary === undefined) return { ...headers, vary: 'Accept-Encoding' }
  return /(?:^|,)\s*accept-encoding\s*(?:,|$)/i.test(vary) ? headers : { ...headers, vary: `${vary}, Accept-Encoding` }
}

/** The fields a growing body is announced with, which nobody has kept yet. */
export function growingHeaders(headers: HeaderMap): string[] {
  return [...headerArray(withVary(headers), OWN), ...SANDBOXED]
}
