/** Requests over TCP, TLS or Unix sockets with undici, each under a total deadline. */
import { Readable } from 'node:stream'
import { Cancel, Closeable, type Runtime, throwIfCanceled } from '@cairn/kernel'
import {
  abortable,
  type IncomingBody,
  type IncomingResponse,
  type OutgoingRequest,
  type Transport,
  unixSocketPath,
} from '@cairn/transport'
import { Agent, type Dispatcher, Pool } from 'undici'
import { transportError } from './transport-error.ts'

/*
 * One request and its answer over an undici dispatcher.
 *
 *     send ──▶ connecting ──▶ headers ──▶ body ──▶ end
 *        └─────────┴────────────┴──────────┴──▶ deadline or signal: typed error, connection destroyed
 */

type DispatcherResponse = Dispatcher.ResponseData

export async function sendRequest(
  dispatcher: Dispatcher,
  request: OutgoingRequest,
  origin: string,
): Promise<IncomingResponse> {
  const { method, url, headers, deadline, signal, onInterim } = request
  const cancel = new Cancel({ signals: [signal], deadline, operation: `${method} to ${origin}` })
  try {
    throwIfCanceled(cancel.signal)
    const answer = dispatcher.request({
      origin,
      path: `${url.pathname}${url.search}`,
      method,
      headers: { ...headers },
      body: outgoingBody(request.body),
      signal: cancel.signal,
      // The deadline covers both.
      headersTimeout: 0,
      bodyTimeout: 0,
      ...(onInterim === undefined
        ? {}
        : {
            onInfo: ({ statusCode, headers: fields }) => {
              if (statusCode > 101) onInterim(statusCode, joinedHeaders(fields))
            },
          }),
    })
    // undici notices the signal only once it is connected; the caller must be released at once.
    const arrived = await abortable(cancel.signal, answer, ({ body }) => {
      body.on('error', ignore).destroy()
    })
    return incoming(arrived, method, origin, cancel)
  } catch (error) {
    cancel[Symbol.dispose]()
    throw transportError(error, origin, cancel.signal)
  }
}

function outgoingBody(body: OutgoingRequest['body']): Uint8Array | Readable | null {
  if (body === undefined) return null
  return body instanceof Uint8Array ? body : Readable.from(body, { objectMode: false })
}

function incoming(answer: DispatcherResponse, method: string, target: string, cancel: Cancel): IncomingResponse {
  const status = answer.statusCode
  // The reader receives an error; a body without a reader must not crash the process.
  answer.body.on('error', ignore)
  const headers = joinedHeaders(answer.headers)
  const isEmpty = method === 'HEAD' || status === 204 || status === 304 || headers['content-length'] === '0'
  if (!isEmpty) return { status, headers, body: incomingBody(answer.body, target, cancel) }
  answer.body.resume()
  cancel[Symbol.dispose]()
  return { status, headers, body: EMPTY_BODY }
}

function joinedHeaders(raw: DispatcherResponse['headers']): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(raw)) {
    if (value === undefined || name === 'set-cookie') continue
    headers[name] = typeof value === 'string' ? value : value.join(', ')
  }
  return headers
}

function incomingBody(stream: Readable, target: string, cancel: Cancel): IncomingBody {
  return {
    async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
      try {
        for await (const chunk of stream as AsyncIterable<Uint8Array>) yield chunk
      } catch (error) {
        throw transportError(error, target, cancel.signal)
      } finally {
        cancel[Symbol.dispose]()
      }
    },
    cancel(): void {
      cancel[Symbol.dispose]()
      stream.destroy()
    },
  }
}

const EMPTY_BODY: IncomingBody = {
  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {},
  cancel: ignore,
}

function ignore(): void {}

/** Connections kept to one target; more requests than this wait for one of them. */
const CONNECTIONS_MAX = 64
const CONNECT_TIMEOUT_MS = 5_000
const HEADER_BYTES_MAX = 16 * 1024

/** What every connection of ours has: no pipelining, no HTTP/2, no proxy from the environment. */
export const CONNECTION_OPTIONS = {
  allowH2: false,
  pipelining: 1,
  connections: CONNECTIONS_MAX,
  maxHeaderSize: HEADER_BYTES_MAX,
} as const

/** Requests to targets we were configured with, over TCP, TLS or Unix sockets. */
export class UndiciTransport extends Closeable implements Transport {
  readonly #agent = new Agent({ ...CONNECTION_OPTIONS, connect: { timeout: CONNECT_TIMEOUT_MS } })
  /** By socket path: configured targets, so few. */
  readonly #sockets = new Map<string, Pool>()

  constructor(runtime: Runtime) {
    super(runtime, 'transport')
  }

  async request(request: OutgoingRequest): Promise<IncomingResponse> {
    const socketPath = unixSocketPath(request.url)
    if (socketPath === undefined) return await sendRequest(this.#agent, request, request.url.origin)
    return await sendRequest(this.#socket(socketPath), request, UNIX_ORIGIN)
  }

  protected async release(): Promise<void> {
    await Promise.all([
      this.#agent.destroy(),
      ...Array.from(this.#sockets.values(), async (pool) => await pool.destroy()),
    ])
  }

  #socket(socketPath: string): Dispatcher {
    const open = this.#sockets.get(socketPath)
    if (open !== undefined) return open
    const pool = new Pool(UNIX_ORIGIN, { ...CONNECTION_OPTIONS, connect: { socketPath, timeout: CONNECT_TIMEOUT_MS } })
    this.#sockets.set(socketPath, pool)
    return pool
  }
}

/** A Unix socket has no host; this is the one every service answers to. */
const UNIX_ORIGIN = 'http://localhost'
