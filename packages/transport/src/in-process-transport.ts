/**
 * A service in the same process, called through its ingress: no socket, and every rule of the ingress holds. Scopes,
 * limits, deadlines and drain are the same as over HTTP, because they are the same code.
 *
 *     client ─▶ request as plain data ─▶ ingress.handle ─▶ answer as plain data ─▶ client
 */
import { CairnError, Cancel, throwIfCanceled } from '@cairn/kernel'
import { type IngressResponse, isStream, type RequestMessage } from './message.ts'
import {
  abortable,
  type IncomingBody,
  type IncomingResponse,
  type OutgoingRequest,
  type Transport,
} from './transport.ts'

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
