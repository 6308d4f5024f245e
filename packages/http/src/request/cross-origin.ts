/** What a page of another origin may do here: nothing, unless its origin is listed. */
import { CairnError } from '@cairn/kernel'
import type { IngressResponse } from '@cairn/transport'
import { empty } from '../response/message.ts'
import { isLoopback } from './client-address.ts'
import type { RequestHeaders } from './request-headers.ts'

const SAFE_METHODS: readonly string[] = ['GET', 'HEAD', 'OPTIONS']

const CONTENT_HEADERS = 'Authorization, Content-Type, Content-Encoding, X-Object-Type, Last-Event-ID'
const ALLOWED_HEADERS = `${CONTENT_HEADERS}, Range, If-Match, If-None-Match, If-Range, Request-Timeout, X-Corr-ID`
const EXPOSED_HEADERS = 'ETag, Content-Range, Location, Retry-After, X-Corr-ID'
const PREFLIGHT_SECONDS = '600'

/** The origin of the request if its pages may read our answers. */
function allowedOrigin(headers: RequestHeaders, origins: readonly string[]): string | undefined {
  const origin = headers.slot('origin')
  return origin !== undefined && origins.includes(origin) ? origin : undefined
}

/** What a browser says of a page that is not of our own origin; another port of this host is `same-site`. */
const FOREIGN: readonly (string | undefined)[] = ['cross-site', 'same-site']

/** A write that a page of another origin makes a browser send, with the user's network position and without the user's intent. */
export function refuseCrossSiteWrite(method: string, headers: RequestHeaders, origins: readonly string[]): void {
  if (SAFE_METHODS.includes(method) || !FOREIGN.includes(headers.slot('sec-fetch-site'))) return
  if (allowedOrigin(headers, origins) !== undefined) return
  throw new CairnError(
    'Forbidden',
    'A page of another origin may not write here; list its origin in cors.allow_origins.',
    {
      code: 'cross_site',
    },
  )
}

/** Where a browser puts what it fetched: pages a user goes to, and those a script may read if its origin is listed. */
const OWN_PAGES: readonly (string | undefined)[] = ['document', undefined]

/**
 * What a page elsewhere embeds (`<img>`, `<object>`, `<iframe>`) loads or fails, and that tells the page what this
 * machine holds: the answer is the same whether it is there or not.
 */
export function refuseCrossSiteEmbed(host: string, headers: RequestHeaders, origins: readonly string[]): void {
  if (headers.slot('sec-fetch-site') !== 'cross-site' || !isGuarded(host, origins)) return
  if (OWN_PAGES.includes(headers.slot('sec-fetch-dest'))) return
  const detail = 'A page of another site may not embed what this machine serves; list its origin in cors.allow_origins.'
  throw new CairnError('Forbidden', detail, { code: 'cross_site' })
}

const RESOURCE_POLICY = 'Cross-Origin-Resource-Policy'

/** The headers of an answer, as they are for a service that only its own machine reaches. */
export function guardedHeaders(
  headers: readonly string[],
  host: string,
  origins: readonly string[],
): readonly string[] {
  if (!isGuarded(host, origins)) return headers
  const at = headers.indexOf(RESOURCE_POLICY)
  return at < 0 || headers[at + 1] === 'same-origin' ? headers : headers.with(at + 1, 'same-origin')
}

/** Under the names of this machine nobody else is served, unless origins are listed. */
function isGuarded(host: string, origins: readonly string[]): boolean {
  return origins.length === 0 && (host === 'localhost' || isLoopback(host) || host === '[::1]')
}

/** The answer to a browser that asks before it sends. */
export function preflight(
  method: string,
  headers: RequestHeaders,
  origins: readonly string[],
  methods: readonly string[],
): IngressResponse | undefined {
  if (method !== 'OPTIONS' || headers.slot('access-control-request-method') === undefined) return undefined
  if (allowedOrigin(headers, origins) === undefined) return undefined
  return empty(204, [
    'Access-Control-Allow-Methods',
    methods.join(', '),
    'Access-Control-Allow-Headers',
    ALLOWED_HEADERS,
    'Access-Control-Max-Age',
    PREFLIGHT_SECONDS,
  ])
}

/** Headers that let the page read the answer; caches must keep answers to different origins apart. */
export function crossOriginHeaders(headers: RequestHeaders, origins: readonly string[]): readonly string[] {
  const origin = allowedOrigin(headers, origins)
  if (origin === undefined) return ['Vary', 'Origin']
  return ['Access-Control-Allow-Origin', origin, 'Access-Control-Expose-Headers', EXPOSED_HEADERS, 'Vary', 'Origin']
}
