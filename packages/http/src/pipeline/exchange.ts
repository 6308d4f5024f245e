/**
 * One request on its way through the pipeline: what is known of it so far, and how it can end early.
 *
 *     open ──answered──▶ over
 *       └──end(reason): client gone, budget gone, service stopped──▶ ended ──▶ over
 *
 * Signal and deadline are made on first use; a route that answers at once makes neither.
 */
import { CairnError, Deadline, type Runtime } from '@cairn/kernel'
import type { Peer } from '@cairn/transport'
import type { Token } from '@cairn/wire'
import type { RequestHeaders } from '../request/request-headers.ts'
import type { IngressRequest } from '../response/message.ts'
import type { AdmissionSlot } from './admission.ts'
import type { RequestContext } from './route.ts'
import type { ServedRoute } from './router.ts'

/** For streams without a budget: long enough to mean none, short enough for every timer. */
const UNLIMITED_MS = 24 * 3_600_000

/** Never sent: it keeps requests their clients gave up apart from those we failed. */
const CLIENT_GONE_STATUS = 499

export class Exchange implements RequestContext<unknown, unknown, unknown> {
  readonly request: IngressRequest
  readonly headers: RequestHeaders
  readonly corrId: string
  readonly draining: AbortSignal
  readonly startedAt: number
  path = ''
  queryText = ''
  host = ''
  clientAddress: string
  params: unknown
  query: unknown
  body: unknown
  stream: AsyncIterable<Uint8Array> | undefined
  token: Token | undefined
  /** Most decoded body bytes the capability allows. */
  tokenBytesMax = Number.POSITIVE_INFINITY
  served: ServedRoute | undefined
  /** The methods the path is served with, when this one is not among them. */
  allow: readonly string[] | undefined
  /** What it holds of the admission, until the work is over. */
  slot: AdmissionSlot | undefined
  /**
   * Nothing is read from its connection any more: where one reader sees a second request behind it, another may see a
   * part of this one.
   */
  isLast = false
  /** What its decoded body holds of the memory for such bodies, until it is over. */
  decodedBytes = 0
  /** Its handler was called: what goes wrong from here on is not a refusal of the ingress. */
  isHandled = false
  /** Milliseconds from `startedAt`. */
  budgetMs = UNLIMITED_MS
  /** The client asked for less time than we give. */
  hasOwnBudget = false
  /** Its body is being read, before the handler. */
  isReading = false
  /** Hears of an early end, while there is still an answer to give. */
  onEnd: ((reason: CairnError) => void) | undefined
  readonly #runtime: Runtime
  #deadline: Deadline | undefined
  #controller: AbortController | undefined
  #ended: CairnError | undefined
  #onClientGone: (() => void) | undefined

  constructor(
    runtime: Runtime,
    request: IngressRequest,
    headers: RequestHeaders,
    corrId: string,
    draining: AbortSignal,
  ) {
    this.#runtime = runtime
    this.request = request
    this.headers = headers
    this.corrId = corrId
    this.draining = draining
    this.clientAddress = request.peer.address
    this.startedAt = runtime.clock.now()
  }

  get method(): string {
    return this.request.method
  }

  get peer(): Peer {
    return this.request.peer
  }

  /** The request has no budget. */
  get isUnlimited(): boolean {
    return this.budgetMs === UNLIMITED_MS
  }

  get remainingMs(): number {
    return Math.max(0, this.startedAt + this.budgetMs - this.#runtime.clock.now())
  }

  get deadline(): Deadline {
    this.#deadline ??= Deadline.after(this.#runtime.clock, this.remainingMs)
    return this.#deadline
  }

  get signal(): AbortSignal {
    if (this.#controller !== undefined) return this.#controller.signal
    this.#controller = new AbortController()
    const { signal } = this.request
    if (this.#ended !== undefined) this.#controller.abort(this.#ended)
    else if (signal.aborted) this.#controller.abort(clientGone())
    else {
      this.#onClientGone = () => this.end(clientGone())
      signal.addEventListener('abort', this.#onClientGone, { once: true })
    }
    return this.#controller.signal
  }

  inform(status: number, headers: readonly string[]): void {
    if (this.#ended === undefined) this.request.inform?.(status, headers)
  }

  /** Ends the request before its handler did. */
  end(reason: CairnError): void {
    if (this.#ended !== undefined) return
    this.#ended = reason
    this.#controller?.abort(reason)
    this.onEnd?.(reason)
  }

  /** Detaches from the client's signal: nothing can end the exchange any more. */
  over(): void {
    this.onEnd = undefined
    if (this.#onClientGone !== undefined) this.request.signal.removeEventListener('abort', this.#onClientGone)
    this.#onClientGone = undefined
  }
}

function clientGone(): CairnError {
  const detail = 'The client went away before the answer was ready.'
  return new CairnError('Canceled', detail, { code: 'client_gone', status: CLIENT_GONE_STATUS })
}
