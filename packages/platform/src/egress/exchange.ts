/**
 * One request and its answer over an undici dispatcher, under a total deadline.
 *
 *     send ──▶ connecting ──▶ headers ──▶ body ──▶ end
 *        └─────────┴────────────┴──────────┴──▶ deadline or signal: typed error, connection destroyed
 */
import { Readable } from 'node:stream'
import { Cancel, throwIfCanceled } from '@cairn/kernel'
import type { Dispatcher } from 'undici'
import { abortable } from './abortable.ts'
import type { IncomingBody, IncomingResponse, OutgoingRequest } from './transport.ts'
import { transportError } from './transport-error.ts'

type Answer = Dispatcher.ResponseData

export async function exchange(
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
    // undici hears the signal only once it is connected; whoever waits here hears it at once.
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

function incoming(answer: Answer, method: string, target: string, cancel: Cancel): IncomingResponse {
  const status = answer.statusCode
  // The reader hears of an error; a body nobody reads any more must not bring the process down.
  answer.body.on('error', ignore)
  const headers = joinedHeaders(answer.headers)
  const isEmpty = method === 'HEAD' || status === 204 || status === 304 || headers['content-length'] === '0'
  if (!isEmpty) return { status, headers, body: incomingBody(answer.body, target, cancel) }
  answer.body.resume()
  cancel[Symbol.dispose]()
  return { status, headers, body: EMPTY_BODY }
}

function joinedHeaders(raw: Answer['headers']): Record<string, string> {
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
