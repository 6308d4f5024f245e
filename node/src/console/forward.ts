/**
 * `/svc/SERVICE/…`: every service below the one origin of the console, with the bearer of the session and never more.
 *
 *     in this process ──▶ its ingress, as if the request had come in there
 *     in another ───────▶ its port or socket
 */
import type { Ingress, RequestContext } from '@cairn/http'
import { CairnError } from '@cairn/kernel'
import { type IngressResponse, isStream, joinUrl, type Transport } from '@cairn/transport'

export interface ForwardTarget {
  /** Of a service of this process. */
  readonly ingress?: Pick<Ingress, 'handle'> | undefined
  /** Of a service of another. */
  readonly remote?: { readonly transport: Transport; readonly base: URL } | undefined
}

type Context = RequestContext<unknown, unknown, unknown>

/** What belongs to the console's own connection, or would let the request claim to be somebody else's. */
const DROPPED_REQUEST: ReadonlySet<string> = new Set([
  'host',
  'cookie',
  'authorization',
  'connection',
  'content-length',
  'transfer-encoding',
  'expect',
  'upgrade',
  'origin',
  'referer',
  'x-cairn-session',
  'x-corr-id',
  'x-forwarded-for',
  'accept-encoding',
])
const DROPPED_RESPONSE: ReadonlySet<string> = new Set([
  'connection',
  'cache-control',
  'content-security-policy',
  'cross-origin-resource-policy',
  'keep-alive',
  'set-cookie',
  'transfer-encoding',
  'www-authenticate',
  'x-corr-id',
])

/**
 * Nothing from here may be shown as a document of the console's origin, now or out of a cache: it would run with the
 * console's rights.
 */
const INERT = [
  'Cache-Control',
  'no-store',
  'Content-Security-Policy',
  "default-src 'none'; sandbox",
  'X-Content-Type-Options',
  'nosniff',
  'Cross-Origin-Resource-Policy',
  'same-origin',
]

export async function forward(
  context: Context,
  path: string,
  bearer: string,
  { ingress, remote }: ForwardTarget,
): Promise<IngressResponse> {
  const target = `${path}${context.queryText === '' ? '' : `?${context.queryText}`}`
  if (ingress !== undefined) return await forwardInside(context, target, bearer, ingress)
  if (remote === undefined)
    throw new CairnError('NotFound', 'This node has no such service.', { code: 'no_such_service' })
  const { transport, base } = remote
  const headers = fieldsFor(context, bearer)
  const response = await transport.request({
    method: context.method,
    url: joinUrl(base, target.slice(1)),
    headers: Object.fromEntries(pairsOf(headers)),
    body: hasBody(context) ? copied(context) : undefined,
    deadline: context.deadline,
    signal: context.signal,
  })
  return { status: response.status, headers: inert(Object.entries(response.headers)), body: response.body }
}

async function forwardInside(
  context: Context,
  target: string,
  bearer: string,
  ingress: Pick<Ingress, 'handle'>,
): Promise<IngressResponse> {
  const length = context.headers.get('content-length')
  const framing = length === undefined ? ['transfer-encoding', 'chunked'] : ['content-length', length]
  const response = await ingress.handle({
    method: context.method,
    target,
    headers: ['host', 'localhost', ...fieldsFor(context, bearer), ...(hasBody(context) ? framing : [])],
    body: hasBody(context) ? copied(context) : undefined,
    peer: context.peer,
    listenerKind: 'service',
    crowded: false,
    signal: context.signal,
    inform: (status, headers) => context.inform(status, headers),
  })
  const headers = inert(pairsOf(response.headers), isStream(response.body))
  const { body, held } = response
  return {
    status: response.status,
    headers,
    ...(body === undefined ? {} : { body }),
    ...(held === undefined ? {} : { held }),
  }
}

/** A piece of the outer request is freed when the next is asked for; who receives it here may keep it. */
async function* copied({ stream }: Context): AsyncGenerator<Uint8Array> {
  for await (const piece of stream ?? []) yield new Uint8Array(piece)
}

/** A stream that is not there is not sent as an empty body: a `GET` has none. */
function hasBody({ headers }: Context): boolean {
  const length = headers.get('content-length')
  return headers.get('transfer-encoding') !== undefined || (length !== undefined && length !== '0')
}

function fieldsFor({ headers, corrId }: Context, bearer: string): string[] {
  const kept = pairsOf(headers.raw).filter(([name]) => {
    const field = name.toLowerCase()
    return !DROPPED_REQUEST.has(field) && !field.startsWith('sec-')
  })
  return [...kept.flat(), 'authorization', `Bearer ${bearer}`, 'x-corr-id', corrId]
}

function inert(pairs: readonly (readonly [string, string])[], keepsLength = true): readonly string[] {
  const kept = pairs.filter(([name]) => {
    const field = name.toLowerCase()
    return !DROPPED_RESPONSE.has(field) && (keepsLength || field !== 'content-length')
  })
  return [...kept.flat(), ...INERT]
}

function pairsOf(fields: readonly string[]): [string, string][] {
  return Array.from({ length: Math.floor(fields.length / 2) }, (_, at) => [
    fields[2 * at] ?? '',
    fields[2 * at + 1] ?? '',
  ])
}
