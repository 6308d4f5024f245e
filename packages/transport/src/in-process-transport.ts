/**
 * A service in the same process, called through its ingress: no socket, and every rule of the ingress holds. Scopes,
 * limits, deadlines and drain are the same as over HTTP, because they are the same code.
 *
 *     client ─▶ request as plain data ─▶ ingress.handle ─▶ answer as plain data ─▶ client
 */
import { CairnError, Cancel, throwIfCanceled } from '@cairn/kernel'
import {
  abortable,
  type IncomingBody,
  type IncomingResponse,
  type OutgoingRequest,
  type Transport,
} from './transport.ts'

/** Requests and answers as a service sees them: plain data, so that a caller in the same process needs no socket. */

export interface Peer {
  /** The other end's IP address; empty on a Unix socket. */
  readonly address: string
  readonly kind: 'tcp' | 'tls' | 'unix'
}

/**
 * How a request came in: by the public listener, by the one for `metrics_addr`, or from another service in this
 * process. The last has no socket, so no client can claim it.
 */
export type ListenerKind = 'service' | 'metrics' | 'peer-service'

/** The bytes of a request as they come. */
export interface RequestBytes extends AsyncIterable<Uint8Array> {
  /** Frees the memory of a piece at once: the caller has used it and reads it no more. */
  free?(piece: Uint8Array): void
  /** The client has had all the time there is for it: the body ends with 408. False if it is in already. */
  giveUp?(): boolean
}

/** A request as plain data, without a socket. */
export interface RequestMessage {
  readonly method: string
  /** As it stands on the request line. */
  readonly target: string
  /** `name, value, name, value …` as received, so that a repeated field can be seen. */
  readonly headers: readonly string[]
  /** Absent when the message has no body. Reading it is what makes the client send it, if it asked first. */
  readonly body: RequestBytes | undefined
  readonly peer: Peer
  readonly listenerKind: ListenerKind
  /** The connection came after the limits on connections were reached. */
  readonly crowded: boolean
  /** Sends an answer before the final one (1xx). Does nothing once that has begun, and for a client that takes none. */
  inform?(status: number, headers: readonly string[]): void
  /** Fires when the client goes away. May be made at first use, so that a route without need of it does not pay. */
  readonly signal: AbortSignal
}

export type ResponseBody = string | Uint8Array | AsyncIterable<Uint8Array>

export interface IngressResponse {
  readonly status: number
  /** `name, value, name, value …`; the length of a whole body is added when it is sent. */
  readonly headers: readonly string[]
  /** Bytes of a stream are needed until the next are asked for; those of a whole body until `held` is released. */
  readonly body?: ResponseBody
  /** Released once the answer is out, or its connection is gone: a buffer of a pool, for one. */
  readonly held?: Disposable
}

export function isStream(body: ResponseBody | undefined): body is AsyncIterable<Uint8Array> {
  return typeof body === 'object' && !(body instanceof Uint8Array)
}

/** A service's ingress, or what stands for one. */
export interface RequestHandler {
  handle(request: RequestMessage): Promise<IngressResponse>
}

export class InProcessTransport implements Transport {
  readonly #ingress: RequestHandler
  readonly #closing = new AbortController()

  constructor(ingress: RequestHandler) {
    this.#ingress = ingress
  }

  async request(request: OutgoingRequest): Promise<IncomingResponse> {
    const { method, url, deadline, signal } = request
    const operation = `${method} ${url.pathname}`
    const cancel = new Cancel({ signals: [signal, this.#closing.signal], deadline, operation })
    try {
      throwIfCanceled(cancel.signal)
      const answer = this.#ingress.handle(asRequestMessage(request, cancel.signal))
      return asIncomingResponse(await abortable(cancel.signal, answer, discard), cancel)
    } catch (error) {
      cancel[Symbol.dispose]()
      throw error
    }
  }

  /** Aborts the calls under way. The service stays open: its owner closes it. */
  async close(): Promise<void> {
    this.#closing.abort(new CairnError('Canceled', 'The client is closed.'))
    await Promise.resolve()
  }
}

function asRequestMessage({ method, url, headers, body }: OutgoingRequest, signal: AbortSignal): RequestMessage {
  const fields = ['host', 'localhost', ...Object.entries(headers).flat()]
  const isWhole = body instanceof Uint8Array
  if (isWhole) fields.push('content-length', String(body.length))
  else if (body !== undefined) fields.push('transfer-encoding', 'chunked')
  return {
    method,
    target: `${url.pathname}${url.search}`,
    headers: fields,
    body: isWhole ? once(body) : body,
    // Like a caller on the service's Unix socket: there is no address to hold against a rule.
    peer: { address: '', kind: 'unix' },
    listenerKind: 'peer-service',
    crowded: false,
    signal,
  }
}

function asIncomingResponse(response: IngressResponse, cancel: Cancel): IncomingResponse {
  const { status, headers: fields, body, held } = response
  const headers = joinedHeaders(fields)
  if (isStream(body)) return { status, headers, body: streamBody(body, cancel) }
  cancel[Symbol.dispose]()
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body
  // The caller may keep these bytes; the service's own buffer returns to its pool.
  const own = held === undefined ? bytes : bytes?.slice()
  held?.[Symbol.dispose]()
  return { status, headers, body: wholeBody(own) }
}

function joinedHeaders(fields: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {}
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const name = fields[at]?.toLowerCase() ?? ''
    const value = fields[at + 1] ?? ''
    if (name === 'set-cookie') continue
    headers[name] = headers[name] === undefined ? value : `${headers[name]}, ${value}`
  }
  return headers
}

function wholeBody(bytes: Uint8Array | undefined): IncomingBody {
  return { [Symbol.asyncIterator]: () => once(bytes)[Symbol.asyncIterator](), cancel: ignore }
}

/** The service's stream, which the deadline and the signal end like everything else. */
function streamBody(source: AsyncIterable<Uint8Array>, cancel: Cancel): IncomingBody {
  const iterator = source[Symbol.asyncIterator]()
  const letGo = (): void => {
    cancel[Symbol.dispose]()
    // Not awaited: a generator that hangs in `next` takes its `return` only after that.
    iterator.return?.().then(ignore, ignore)
  }
  return {
    async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
      try {
        for (;;) {
          const next = await abortable(cancel.signal, iterator.next())
          if (next.done === true) return
          yield next.value.slice()
        }
      } finally {
        letGo()
      }
    },
    cancel: letGo,
  }
}

/** Ends an answer no caller waits for: until its body is released it keeps its place in the service. */
function discard({ body, held }: IngressResponse): void {
  held?.[Symbol.dispose]()
  if (isStream(body)) body[Symbol.asyncIterator]().return?.().then(ignore, ignore)
}

async function* once(bytes: Uint8Array | undefined): AsyncGenerator<Uint8Array> {
  if (bytes !== undefined && bytes.length > 0) yield await Promise.resolve(bytes)
}

function ignore(): void {}
