/** What a page of another origin may do here: nothing, unless its origin is listed. */
import { CairnError } from '@cairn/kernel'
import type { IngressResponse } from '@cairn/transport'
import { empty } from '../response/message.ts'
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
