/** The services of a node beside storage, each asked through the client that services use among themselves. */
import { type CallContext, Caller } from '@cairn/clients'
import { Breakers, CairnError, Cancel, Deadline, type Runtime, throwIfCanceled } from '@cairn/kernel'
import type { IncomingBody, IncomingResponse, OutgoingRequest, Transport } from '@cairn/transport'
import { isScope, SCOPES } from '@cairn/wire'
import { type Fetch, piecesOf, send } from './http.ts'

// Requests of the clients that services use among themselves, made by `fetch`.

class FetchTransport implements Transport {
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

export const SERVICES = ['storage', 'index', 'registry', 'edge', 'interop'] as const
export type ServiceName = (typeof SERVICES)[number]

export interface ServicesOptions {
  readonly runtime: Runtime
  readonly urls: Readonly<Partial<Record<ServiceName, URL>>>
  readonly token: string | undefined
  readonly timeoutMs: number
  readonly fetch: Fetch
}

/** As good as for ever; a stream ends by its signal. */
const FOLLOW_MS = 365 * 24 * 60 * 60 * 1000

export class Services {
  readonly #options: ServicesOptions
  #breakers: Breakers | undefined
  readonly #callers = new Map<ServiceName, Caller>()

  constructor(options: ServicesOptions) {
    this.#options = options
  }

  get runtime(): Runtime {
    return this.#options.runtime
  }

  /** Throws `Malformed` if nobody said where the service is. */
  caller(service: ServiceName): Caller {
    const known = this.#callers.get(service)
    if (known !== undefined) return known
    const { runtime, urls, token, fetch } = this.#options
    const base = urls[service]
    if (base === undefined)
      throw new CairnError('Malformed', `Say where the ${service} is: new Cairn({ ${service}Url: … }).`)
    this.#breakers ??= new Breakers(runtime)
    const caller = new Caller({
      runtime,
      transport: new FetchTransport(fetch),
      base,
      target: service,
      breakers: this.#breakers,
      // What the token allows, the service knows; here nothing is forbidden.
      grant: { scopes: Object.keys(SCOPES).filter(isScope), bearer: async () => await bearerOf(token, service) },
    })
    this.#callers.set(service, caller)
    return caller
  }

  /** For a small question. */
  call(signal: AbortSignal | undefined): CallContext {
    const { runtime, timeoutMs } = this.#options
    return { deadline: Deadline.after(runtime.clock, timeoutMs), signal }
  }

  /** For a stream that goes on until its signal. */
  following(signal: AbortSignal | undefined): CallContext {
    return { deadline: Deadline.after(this.#options.runtime.clock, FOLLOW_MS), signal }
  }
}

async function bearerOf(token: string | undefined, service: ServiceName): Promise<string> {
  if (token !== undefined) return await Promise.resolve(token)
  throw new CairnError('Unauthorized', `The ${service} wants a token for this: new Cairn({ token: … }).`, {
    code: 'no_token',
  })
}
