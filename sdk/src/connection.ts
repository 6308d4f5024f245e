/**
 * One request to a service, and everything around it.
 *
 *     lane free? ─▶ retry (idempotent only, Retry-After) ─▶ budget of one try ─▶ fetch ─▶ answer, or the service's error
 *
 * Lanes bound what one client has under way, over all its puts and gets.
 */
import { Cancel, Deadline, type RetryPolicy, type Runtime, retry, Semaphore, throwIfCanceled } from '@cairn/kernel'
import { createUlid, objectIn, problemError } from '@cairn/wire'
import { type Fetch, send, textOf } from './http.ts'

export interface ConnectionOptions {
  readonly runtime: Runtime
  /** Where the routes of the service begin. */
  readonly base: URL
  readonly token: string | undefined
  readonly fetch: Fetch
  /** How long a small question may take. */
  readonly timeoutMs: number
}

export interface ConnectionRequest<T> {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE'
  /** Below the base, without a leading slash. */
  readonly path: string
  /** Sending it twice is the same as once, so it may be tried again. */
  readonly idempotent: boolean
  readonly headers?: Readonly<Record<string, string>>
  /** Whole, so that a second try sends the same. */
  readonly body?: Uint8Array
  /** For one try, if it is more than a small question. */
  readonly budgetMs?: number
  /** Reads the answer to its end. */
  readonly read: (response: Response, signal: AbortSignal) => Promise<T>
}

/** What one put or get shares among its requests. */
export interface Operation {
  /** Names it in the log of the service, and keeps the chunks of an upload. */
  readonly id: string
  readonly signal: AbortSignal | undefined
}

/** Requests of one client under way at once: enough to keep a disk and a network busy, few enough to share them. */
const LANES = 8
/** Of them, batches of chunks, which are what takes memory. */
const BATCHES = 4
const ANSWER_BYTES_MAX = 4 * 1024 * 1024
const PROBLEM_BYTES_MAX = 1024 * 1024

/** 50–100 ms, doubling up to 5 s: a node that restarts is back within the six tries. */
const RETRY_POLICY: RetryPolicy = {
  tries: 6,
  backoff: (attempt, random) => Math.min(5000, 100 * 2 ** (attempt - 1)) * (0.5 + random.next() / 2),
}

export class Connection {
  readonly runtime: Runtime
  /** Taken by a put before it holds one more batch. */
  readonly batches = new Semaphore(BATCHES)
  readonly #lanes = new Semaphore(LANES)
  readonly #options: ConnectionOptions

  constructor(options: ConnectionOptions) {
    this.runtime = options.runtime
    this.#options = options
  }

  operation(signal: AbortSignal | undefined): Operation {
    const { clock, random } = this.runtime
    return { id: createUlid(clock.wall(), random.bytes(10)), signal }
  }

  /** Asks in a lane; throws the service's error, or why it could not be asked. */
  async ask<T>(ask: ConnectionRequest<T>, operation: Operation): Promise<T> {
    const { signal } = operation
    using _lane = await this.#lanes.acquire({ signal })
    const attempt = async (): Promise<T> => await this.#once(ask, operation)
    if (!ask.idempotent) return await attempt()
    const given = signal === undefined ? {} : { signal }
    return await retry(this.runtime, attempt, { policy: RETRY_POLICY, operation: 'sdk', ...given })
  }

  async #once<T>(ask: ConnectionRequest<T>, { id, signal }: Operation): Promise<T> {
    const { timeoutMs, base } = this.#options
    const deadline = Deadline.after(this.runtime.clock, ask.budgetMs ?? timeoutMs)
    using cancel = new Cancel({ signals: [signal], deadline, operation: `${ask.method} ${base.origin}/${ask.path}` })
    throwIfCanceled(cancel.signal)
    const response = await this.#fetch(ask, id, cancel.signal)
    if (response.ok) return await ask.read(response, cancel.signal)
    const { status, headers } = response
    const text = await textOf(response, cancel.signal, PROBLEM_BYTES_MAX)
    const refusal = { status, contentType: headers.get('content-type'), retryAfter: headers.get('retry-after'), text }
    throw problemError(refusal, 'The service')
  }

  async #fetch(
    { method, path, headers, body }: ConnectionRequest<unknown>,
    id: string,
    signal: AbortSignal,
  ): Promise<Response> {
    const { base, token, fetch } = this.#options
    const bearer = token === undefined ? {} : { authorization: `Bearer ${token}` }
    return await send(fetch, {
      method,
      url: new URL(path, base),
      headers: { ...headers, ...bearer, 'x-corr-id': id },
      body,
      signal,
    })
  }
}

/** For answers that are one JSON object. */
export async function readFields(response: Response, signal: AbortSignal): Promise<Readonly<Record<string, unknown>>> {
  return objectIn(await textOf(response, signal, ANSWER_BYTES_MAX)) ?? {}
}
