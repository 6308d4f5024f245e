/** One question to an upstream, asked up to three times, and the answer as far as its header. */
import {
  CairnError,
  Cancel,
  type Clock,
  Deadline,
  isKind,
  type Random,
  type RetryPolicy,
  type Runtime,
  retry,
  type Timer,
  timedOut,
} from '@cairn/kernel'
import type { IncomingResponse, InterimListener, Transport } from '@cairn/transport'
import { matchesWeakly, parseEntityTag } from '@cairn/wire'
import { directivesOf, type HeaderMap, type ResponseHead } from '../caching/stored-response.ts'
import type { EdgeConfig } from '../config.ts'
import { badUpstream, etagInvalid } from '../errors.ts'

/** A signal that fires when nothing has happened for a while, or when its parent does. */
export class IdleTimeout implements Disposable {
  readonly #clock: Clock
  readonly #cancel: Cancel
  readonly #ms: number
  readonly #operation: string
  #timer: Timer | undefined

  constructor(clock: Clock, ms: number, operation: string, parent: AbortSignal) {
    this.#clock = clock
    this.#ms = ms
    this.#operation = operation
    this.#cancel = new Cancel({ signals: [parent] })
    this.renew()
  }

  get signal(): AbortSignal {
    return this.#cancel.signal
  }

  /** Something happened: the time begins anew. */
  renew(): void {
    this.#timer?.cancel()
    if (this.signal.aborted) return
    this.#timer = this.#clock.timer(this.#ms, () => this.#cancel.abort(timedOut(this.#operation)))
  }

  [Symbol.dispose](): void {
    this.#timer?.cancel()
    this.#timer = undefined
    this.#cancel[Symbol.dispose]()
  }
}

export interface UpstreamRequest {
  readonly route: string
  readonly method: string
  readonly url: URL
  readonly headers: HeaderMap
  readonly body?: Uint8Array | undefined
  /** The entity tag a 304 would be about, if a stored response is asked about. */
  readonly storedTag: string | undefined
  readonly isValidation: boolean
  /** Hears of answers before the final one. */
  readonly onInterim?: InterimListener | undefined
}

/** The answer; its body must be read to its end or given up, and the idle timeout released after that. */
export interface UpstreamAnswer {
  readonly head: ResponseHead
  readonly response: IncomingResponse
  readonly idleTimeout: IdleTimeout
}

export interface UpstreamDependencies {
  readonly runtime: Runtime
  readonly transport: Transport
  readonly config: EdgeConfig
}

/** What may only be a moment's weakness; only what is read, and so may be asked again. */
const TRANSIENT: readonly number[] = [503, 504]

export async function askUpstream(
  { runtime, transport, config }: UpstreamDependencies,
  question: UpstreamRequest,
  signal: AbortSignal,
): Promise<UpstreamAnswer> {
  const policy = retryPolicy(config)
  let tries = 0
  const isRead = question.method === 'GET' || question.method === 'HEAD'
  const attempt = async (): Promise<UpstreamAnswer> => {
    tries += 1
    const answer = await askOnce({ runtime, transport, config }, question, signal)
    const { status, headers } = answer.head
    if (!isRead || !TRANSIENT.includes(status) || tries >= policy.tries || isDeliberate(headers)) return answer
    giveUp(answer)
    throw new CairnError('Timeout', `The upstream answered ${status}.`, { code: 'upstream', status: 502 })
  }
  if (!isRead) return await attempt()
  return await retry(runtime, attempt, { policy, operation: 'live_fill', signal })
}

/** An error its origin gave a lifetime is an answer, not an accident. */
function isDeliberate(headers: HeaderMap): boolean {
  const { directives } = directivesOf(headers)
  return directives.has('max-age') || directives.has('s-maxage') || headers['expires'] !== undefined
}

function retryPolicy({ retry: { live_fill: row } }: EdgeConfig): RetryPolicy {
  const jitter = (random: Random): number => (row.jitter ? row.base_ms * random.next() : 0)
  return {
    tries: row.max_retries + 1,
    backoff: (attempt, random) => Math.min(row.max_ms, row.base_ms * 2 ** (attempt - 1)) + jitter(random),
  }
}

async function askOnce(
  { runtime, transport, config }: UpstreamDependencies,
  question: UpstreamRequest,
  signal: AbortSignal,
): Promise<UpstreamAnswer> {
  const { route, method, url, headers, body, onInterim } = question
  const idleTimeout = new IdleTimeout(runtime.clock, config.fill_timeout, 'the upstream', signal)
  const requestedAt = runtime.clock.wall()
  runtime.metrics.count('edge_live_fill_attempts_total', { route })
  try {
    const deadline = Deadline.after(runtime.clock, config.fill_body_timeout)
    const asked = { method, url, headers, deadline, signal: idleTimeout.signal, onInterim }
    const response = await transport.request(body === undefined ? asked : { ...asked, body })
    idleTimeout.renew()
    const head = { status: response.status, headers: response.headers, requestedAt, receivedAt: runtime.clock.wall() }
    const answer = { head, response, idleTimeout }
    try {
      checkTags(question, head)
    } catch (error) {
      giveUp(answer)
      throw error
    }
    return answer
  } catch (error) {
    idleTimeout[Symbol.dispose]()
    if (isKind(error, 'Timeout') && error.status === 504) runtime.metrics.count('io_timeouts_total', { op: 'fill' })
    throw error
  }
}

/** Nothing more of it is wanted. */
export function giveUp({ response, idleTimeout }: UpstreamAnswer): void {
  response.body.cancel()
  idleTimeout[Symbol.dispose]()
}

/** A tag that cannot be compared, or a 304 about something else, would make a lie of every answer built on it. */
function checkTags({ storedTag, isValidation }: UpstreamRequest, { status, headers }: ResponseHead): void {
  const { etag } = headers
  const tag = etag === undefined ? undefined : parseEntityTag(etag)
  if (etag !== undefined && tag === undefined) throw etagInvalid('sent an ETag that is none')
  if (status !== 304) return
  if (!isValidation) throw badUpstream('answered 304 to a question without a condition')
  const stored = storedTag === undefined ? undefined : parseEntityTag(storedTag)
  if (tag !== undefined && stored !== undefined && !matchesWeakly(tag, stored))
    throw etagInvalid('answered 304 about another ETag')
}

/** The body, piece by piece, each within `fill_timeout` of the one before; counted as it comes. */
export async function* bodyOf(
  { runtime }: Pick<UpstreamDependencies, 'runtime'>,
  route: string,
  answer: UpstreamAnswer,
) {
  const { response, idleTimeout } = answer
  const labels = { route }
  try {
    for await (const piece of response.body) {
      idleTimeout.renew()
      runtime.metrics.count('edge_bytes_in_total', labels, piece.length)
      yield piece
    }
  } catch (error) {
    if (isKind(error, 'Timeout') && error.status === 504) runtime.metrics.count('io_timeouts_total', { op: 'fill' })
    throw error
  } finally {
    giveUp(answer)
  }
}
