/** What a peer is asked and what it answers, as plain data: the same for sockets and for the virtual network. */

export const PEER_ROUTES = [
  'known',
  'page',
  'facts',
  'challenge',
  'manifest',
  'chunk',
  'missing',
  'put-chunks',
  'commit',
  'put',
  'remove',
  'hold',
  'release',
  'other',
] as const

export type PeerRoute = (typeof PEER_ROUTES)[number]

export interface PeerRequest {
  readonly method: string
  /** Path and query. */
  readonly target: string
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

export interface PeerAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array | AsyncIterable<Uint8Array>
}

/** How the honest node behind the liar is asked. */
export type Forward = (request: PeerRequest) => Promise<PeerAnswer>

const ROUTES: readonly (readonly [PeerRoute, string, RegExp])[] = [
  ['known', 'POST', /^\/copies\/known/],
  ['challenge', 'POST', /^\/copies\/challenge/],
  ['facts', 'GET', /^\/copies\/b3:/],
  ['page', 'GET', /^\/copies(?:\?|$)/],
  ['manifest', 'GET', /^\/m\//],
  ['commit', 'PUT', /^\/m\//],
  ['chunk', 'GET', /^\/c\/b3:/],
  ['missing', 'POST', /^\/c\/missing/],
  ['put-chunks', 'POST', /^\/c(?:\?|$)/],
  ['put', 'PUT', /^\/o\//],
  ['remove', 'DELETE', /^\/o\//],
  ['hold', 'PUT', /^\/refs\//],
  ['release', 'DELETE', /^\/refs\//],
]

export function routeOf({ method, target }: Pick<PeerRequest, 'method' | 'target'>): PeerRoute {
  return ROUTES.find(([, verb, path]) => verb === method && path.test(target))?.[0] ?? 'other'
}

/** The object or chunk in the path. */
export function addressIn({ target }: Pick<PeerRequest, 'target'>): string {
  return /b3:[0-9a-f]{64}/.exec(target)?.[0] ?? ''
}

export function jsonAnswer(value: unknown, status = 200): PeerAnswer {
  return {
    status,
    headers: { 'content-type': status < 400 ? 'application/json' : 'application/problem+json' },
    body: Buffer.from(JSON.stringify(value)),
  }
}

export function octetsAnswer(body: PeerAnswer['body']): PeerAnswer {
  return { status: 200, headers: { 'content-type': 'application/octet-stream' }, body }
}

export function problemAnswer(status: number, code: string, fields: object = {}): PeerAnswer {
  return jsonAnswer({ type: 'about:blank', title: code, status, code, detail: 'A lie.', ...fields }, status)
}

/** All of a body that ends. */
export async function wholeBody(body: PeerAnswer['body']): Promise<Buffer> {
  if (body instanceof Uint8Array) return Buffer.from(body)
  const parts: Uint8Array[] = []
  for await (const part of body) parts.push(part)
  return Buffer.concat(parts)
}
