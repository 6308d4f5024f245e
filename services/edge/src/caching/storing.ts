/** Whether a response may be kept (RFC 9111 §3), and which of its fields. */
import { splitList } from './cache-control.ts'
import { directivesOf, type HeaderMap, isHeuristic } from './stored-response.ts'

// What an unsafe request makes invalid (RFC 9111 §4.4).

/**
 * The URLs whose stored responses go: the target, and what `Location` and `Content-Location` name on the same origin.
 * None after an answer that is an error.
 */
export function invalidatedBy(target: URL, status: number, headers: HeaderMap): readonly URL[] {
  if (status < 200 || status >= 400) return []
  const named = [headers['location'], headers['content-location']].flatMap((value) => {
    const url = value === undefined ? null : URL.parse(value, target)
    return url !== null && url.origin === target.origin ? [url] : []
  })
  return [target, ...named]
}

export interface StorableRequest {
  readonly method: string
  readonly hasAuthorization: boolean
  /** `Cache-Control: no-store` of the client. */
  readonly noStore: boolean
}

/** Statuses this cache knows the caching rules of; `must-understand` asks for that. */
const UNDERSTOOD: ReadonlySet<number> = new Set([
  200, 203, 204, 300, 301, 302, 303, 307, 308, 400, 401, 403, 404, 405, 410, 414, 451, 500, 501, 502, 503, 504,
])

/** Whether it may be kept, in whatever state: a stale one may still be validated, or shared by those who wait for it. */
export function isStorable(request: StorableRequest, status: number, headers: HeaderMap): boolean {
  const { directives } = directivesOf(headers)
  if (request.method !== 'GET' || request.noStore) return false
  // Nobody asked for a part, and a 304 or an interim answer is no answer to what was asked.
  if (status < 200 || status === 206 || status === 304) return false
  const isUnderstood = UNDERSTOOD.has(status)
  if (directives.has('must-understand') && !isUnderstood) return false
  if (directives.has('no-store') && !directives.has('must-understand')) return false
  if (directives.isPlain('private')) return false
  if (varyOf(headers) === '*') return false
  if (request.hasAuthorization && !['public', 'must-revalidate', 's-maxage'].some((name) => directives.has(name)))
    return false
  const isExplicit =
    ['public', 'private', 'max-age', 's-maxage'].some((name) => directives.has(name)) ||
    headers['expires'] !== undefined
  return isExplicit || isHeuristic(status)
}

/** The header fields that select the response, in lower case and order; `*` where no request can be known to match. */
export function varyOf(headers: HeaderMap): '*' | readonly string[] {
  const names = splitList(headers['vary'] ?? '').map((name) => name.toLowerCase())
  return names.includes('*') ? '*' : [...new Set(names)].sort()
}

/** The request fields that tell one response of a key from another: what it varies on, and the coding of a coded one. */
export function selectingNames(headers: HeaderMap): readonly string[] {
  const vary = varyOf(headers)
  const names = vary === '*' ? [] : vary
  if (headers['content-encoding'] === undefined || names.includes('accept-encoding')) return names
  return [...names, 'accept-encoding'].sort()
}

/** Fields of a connection, not of a response. */
const HOP_BY_HOP: readonly string[] = [
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authentication-info',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]

/** Fields that would speak for an origin that is ours, not the upstream's; no configuration lets them through. */
const NEVER: readonly string[] = [
  'set-cookie',
  'service-worker-allowed',
  'clear-site-data',
  'strict-transport-security',
  'alt-svc',
  'content-security-policy',
  'content-security-policy-report-only',
  'x-content-type-options',
  'cross-origin-resource-policy',
  'content-length',
  'x-cairn-address',
  'x-corr-id',
  'x-reason',
  'cache-status',
]

/** What every upstream may say about its response. */
const ALWAYS: readonly string[] = [
  'accept-ranges',
  'age',
  'allow',
  'cache-control',
  'cdn-cache-control',
  'content-disposition',
  'content-encoding',
  'content-language',
  'content-location',
  'content-md5',
  'content-type',
  'content-digest',
  'repr-digest',
  'date',
  'etag',
  'expires',
  'last-modified',
  'location',
  'pragma',
  'retry-after',
  'vary',
]

/** The lower-case names that pass, for a route that lists these beside the usual ones. */
export function passedNames(listed: readonly string[]): ReadonlySet<string> {
  const refused = new Set([...NEVER, ...HOP_BY_HOP])
  const names = [...ALWAYS, ...listed.map((name) => name.toLowerCase())]
  return new Set(names.filter((name) => !refused.has(name) && !name.startsWith('access-control-')))
}

/** What of a response is kept and handed on. */
export function keptHeaders(headers: HeaderMap, passed: ReadonlySet<string>): HeaderMap {
  const { directives } = directivesOf(headers)
  const dropped = new Set([
    ...splitList(headers['connection'] ?? '').map((name) => name.toLowerCase()),
    ...directives.fields('private'),
    ...directives.fields('no-cache'),
  ])
  return Object.fromEntries(Object.entries(headers).filter(([name]) => passed.has(name) && !dropped.has(name)))
}

/** What describes the bytes, and so is not changed by an answer without any (§3.2). */
const OF_THE_BYTES: readonly string[] = ['content-encoding', 'content-type', 'content-md5', 'content-range', 'etag']

/** The stored fields, brought up to date by a 304. */
export function updatedHeaders(stored: HeaderMap, fresh: HeaderMap): HeaderMap {
  const changed = Object.entries(fresh).filter(([name]) => name === 'content-type' || !OF_THE_BYTES.includes(name))
  // An age says how old the answer that carries it was.
  const { age: _age, ...rest } = stored
  return { ...rest, ...Object.fromEntries(changed) }
}
