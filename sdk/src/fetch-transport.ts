/** Requests of the clients that services use among themselves, made by `fetch`. */
import { CairnError, Cancel, throwIfCanceled } from '@cairn/kernel'
import type { IncomingBody, IncomingResponse, OutgoingRequest, Transport } from '@cairn/platform'
import { piecesOf } from './response-bytes.ts'
import { type Fetch, send } from './send.ts'

export class FetchTransport implements Transport {
  readonly #fetch: Fetch

  constructor(fetch: Fetch) {
    this.#fetch = fetch
  }

  async request({ method, url, headers, body, deadline, signal }: OutgoingRequest): Promise<IncomingResponse> {
    const cancel = new Cancel({ signals: [signal], deadline, operation: `${method} ${url.origin}${url.pathname}` })
    try {
      throwIfCanceled(cancel.signal)
      const response = await send(this.#fetch, { method, url, headers, body: wholeBody(body), signal: cancel.signal })
      return {
        status: response.status,
        headers: Object.fromEntries(response.headers),
        body: new FetchedBody(response, cancel),
      }
    } catch (error) {
      cancel[Symbol.dispose]()
      throw error
    }
  }

  /** Nothing is kept between requests. */
  async close(): Promise<void> {
    await Promise.resolve()
  }
}

/** Not every browser can send a stream, and what is sent twice has to be the same. */
function wholeBody(body: OutgoingRequest['body']): Uint8Array | undefined {
  if (body === undefined || body instanceof Uint8Array) return body
  throw new CairnError('Malformed', 'Only bytes that are there as a whole are sent here.')
}

/** A body whose deadline and signal count until its end. */
class FetchedBody implements IncomingBody {
  readonly #response: Response
  readonly #cancel: Cancel

  constructor(response: Response, cancel: Cancel) {
    this.#response = response
    this.#cancel = cancel
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    using cancel = this.#cancel
    yield* piecesOf(this.#response, cancel.signal)
  }

  cancel(): void {
    this.#cancel[Symbol.dispose]()
    // Nobody reads it any more, so nobody has to hear how it ended.
    this.#response.body?.cancel().catch(() => undefined)
  }
}
