/**
 * Requests to hosts that strangers name: the internet, seen through a policy.
 *
 *     URL ─▶ policy ─▶ checked connection ─▶ answer ─┬─▶ body, inflated under a cap
 *      ▲                                             │
 *      └──────────── redirect, at most 3 ◀───────────┘
 */
import { CairnError, Closeable, isKind, type Runtime } from '@cairn/kernel'
import type { IncomingBody, IncomingResponse, OutgoingRequest, Transport } from '@cairn/transport'
import { Agent } from 'undici'
import { type Coding, codingOf, type InflateLimits, openCoded, threadInflate } from '../workers/inflate.ts'
import type { Lookup } from './checked-connector.ts'
import { checkedConnector } from './checked-connector.ts'
import { CONNECTION_OPTIONS, sendRequest } from './undici-transport.ts'
import type { UrlPolicy } from './url-policy.ts'

/** A short page of a listed upstream may pack better than any document: below this much output a ratio says nothing. */
const RATIO_FREE_BYTES = 64 * 1024

/** The response with its body decoded, within the limits; what is wrong with it is the sender's fault (`Integrity`). */
function inflated(response: IncomingResponse, limits: InflateLimits): IncomingResponse {
  const { 'content-encoding': encoding, 'content-length': _length, ...headers } = response.headers
  try {
    const coding = codingOf(encoding)
    if (coding === undefined) return response
    return { status: response.status, headers, body: decoded(response.body, coding, limits) }
  } catch (error) {
    response.body.cancel()
    throw badCoding(error)
  }
}

function decoded(body: IncomingBody, coding: Coding, limits: InflateLimits): IncomingBody {
  return {
    async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
      const bytes = await collected(body, limits.bytesMax)
      if (bytes.length === 0) return
      try {
        yield await openCoded(threadInflate, coding, bytes, { freeBytes: RATIO_FREE_BYTES, ...limits })
      } catch (error) {
        throw badCoding(error)
      }
    },
    cancel: () => body.cancel(),
  }
}

async function collected(body: IncomingBody, bytesMax: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of body) {
    length += chunk.length
    if (length > bytesMax) {
      throw new CairnError('TooLarge', `The answer has more than ${bytesMax} bytes.`, { code: 'decompress_cap' })
    }
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function badCoding(error: unknown): unknown {
  if (!isKind(error, 'Malformed')) return error
  return new CairnError('Integrity', 'The answer is not in the coding it claims to be in.', {
    code: 'bad_answer',
    cause: error,
  })
}

export interface GuardedTransportOptions {
  readonly lookup: Lookup
  /** Asked for every request and every connection, so that a reload takes hold at once. */
  readonly policy: () => UrlPolicy
  /** Bodies are handed over decoded, within these limits; without it they come in the coding they were sent in. */
  readonly inflate?: InflateLimits
  /** Certificates trusted instead of the system's; for tests. */
  readonly ca?: string
}

const REDIRECTS_MAX = 3
const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308]

/** What belongs to the client who asked, or to us, and to no host that was named to us. */
const CREDENTIALS: readonly string[] = ['authorization', 'proxy-authorization', 'cookie', 'cookie2']

/** Set by the connection itself. */
const CONNECTION_FIELDS: readonly string[] = ['host', 'connection', 'keep-alive', 'te', 'transfer-encoding', 'upgrade']

export class GuardedTransport extends Closeable implements Transport {
  readonly #options: GuardedTransportOptions
  readonly #closing = new AbortController()
  readonly #agent: Agent

  constructor(runtime: Runtime, options: GuardedTransportOptions) {
    super(runtime, 'guarded transport')
    const { clock, metrics } = runtime
    this.#options = options
    const onTimeout = (): void => metrics.count('io_timeouts_total', { op: 'connect' })
    const connect = checkedConnector({ ...options, clock, closing: this.#closing.signal, onTimeout })
    this.#agent = new Agent({ ...CONNECTION_OPTIONS, connect })
  }

  /** Like any transport, for allowed targets; `RejectPolicy` for all others, before a byte is sent to them. */
  async request(request: OutgoingRequest): Promise<IncomingResponse> {
    const headers = withoutCredentials(request.headers)
    let { url } = request
    for (let redirects = 0; ; redirects += 1) {
      this.#options.policy().check(url)
      const response = await sendRequest(this.#agent, { ...request, url, headers }, url.origin)
      const location = REDIRECTS.includes(response.status) ? response.headers['location'] : undefined
      if (location === undefined) return this.#opened(response)
      response.body.cancel()
      url = nextTarget(request.method, url, location, redirects)
    }
  }

  protected async release(): Promise<void> {
    this.#closing.abort(new CairnError('Canceled', 'The transport is closed.'))
    await this.#agent.destroy()
  }

  #opened(response: IncomingResponse): IncomingResponse {
    const { inflate } = this.#options
    return inflate === undefined ? response : inflated(response, inflate)
  }
}

function withoutCredentials(headers: Readonly<Record<string, string>>): Record<string, string> {
  const dropped = [...CREDENTIALS, ...CONNECTION_FIELDS]
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !dropped.includes(name.toLowerCase())))
}

function nextTarget(method: string, from: URL, location: string, redirects: number): URL {
  const refuse = (why: string): CairnError =>
    new CairnError('RejectPolicy', `${from.host} redirects ${why}; this is not followed.`, { code: 'not_allowed' })
  if (redirects >= REDIRECTS_MAX) throw refuse(`more than ${REDIRECTS_MAX} times`)
  if (method !== 'GET' && method !== 'HEAD') throw refuse(`a ${method}`)
  const next = URL.parse(location, from)
  if (next === null) throw refuse('to something that is not a URL')
  return next
}
