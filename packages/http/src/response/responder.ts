/** How answers look: errors as problems, the headers every answer carries, and what is counted and logged of it. */
import { CairnError, type Runtime, type Shutdown, toCairnError } from '@cairn/kernel'
import { CODINGS } from '@cairn/platform'
import { type IngressResponse, isStream } from '@cairn/transport'
import { RATE_CAP } from '../pipeline/admission.ts'
import type { IngressConfig } from '../pipeline/config.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import { AccessLog, NO_ROUTE, RequestMeter, Traffic } from '../pipeline/metrics.ts'
import { BODY_CAP } from '../request/body.ts'
import { crossOriginHeaders, guardedHeaders } from '../request/cross-origin.ts'
import { type CompletedResponse, problem } from './message.ts'
import { isForPerson } from './problem-page.ts'

/** What a service changes about the problems of its ingress. */
export interface ProblemStyle {
  /** Its own names for the codes of the ingress: `{ body_cap: 'payload_too_large' }`, with a status where that differs. */
  readonly codes?: Readonly<Record<string, string | { readonly code: string; readonly status: number }>>
  /** A header that repeats the code of every problem. */
  readonly reasonHeader?: string
  /**
   * Hears the code of every refusal and failure, to count it under a name of its own as well, or to write it down.
   * `original` is what the ingress or the layers below call it.
   */
  readonly onProblem?: (code: string, request: RefusedRequest, original: string) => void
}

/** What is known of a request that is answered with a problem. */
export type RefusedRequest = Readonly<Pick<Exchange, 'path' | 'corrId' | 'served' | 'isHandled'>>

export class Responder {
  readonly #runtime: Runtime
  readonly #shutdown: Shutdown
  readonly #style: ProblemStyle
  readonly #log: AccessLog
  readonly #meter: RequestMeter
  readonly traffic = new Traffic()
  #origins: readonly string[]

  constructor(runtime: Runtime, shutdown: Shutdown, config: IngressConfig, style: ProblemStyle) {
    this.#runtime = runtime
    this.#shutdown = shutdown
    this.#style = style
    this.#log = new AccessLog(runtime, config.access_log_ratio)
    this.#meter = new RequestMeter(runtime)
    this.#origins = config.cors.allow_origins
  }

  reconfigure(config: IngressConfig): void {
    this.#log.reconfigure(config.access_log_ratio)
    this.#origins = config.cors.allow_origins
  }

  /** An error as an answer, counted and, if it is a defect of ours, logged. */
  refusal(exchange: Exchange, error: unknown): IngressResponse {
    const { metrics, log } = this.#runtime
    const original = toCairnError(error)
    const known = this.#named(original)
    const route = exchange.served?.route.path ?? NO_ROUTE
    this.#style.onProblem?.(known.code, exchange, original.code)
    if (!exchange.isHandled) metrics.count('rejected_total', { reason: known.code })
    if (original.code === BODY_CAP) metrics.count('quota_exhaustions_total', { kind: 'body_bytes' })
    if (known.status === 429) metrics.count('busy_rejections_total', { endpoint: route })
    if (known.kind === 'Timeout' && known.status === 504) metrics.count('io_timeouts_total', { op: 'request' })
    if (known.kind === 'Internal') {
      metrics.count('internal_errors_total', { kind: 'request' })
      log.error({ corr_id: exchange.corrId, route, error }, 'request failed')
    }
    const headers: string[] = []
    if (exchange.allow !== undefined) headers.push('Allow', exchange.allow.join(', '))
    if (known.status === 415) headers.push('Accept-Encoding', CODINGS.join(', '))
    const { reasonHeader } = this.#style
    if (reasonHeader !== undefined) headers.push(reasonHeader, known.code)
    return problem(known, exchange.corrId, { headers, isPage: isForPerson(exchange.method, exchange.headers) })
  }

  #named(error: CairnError): CairnError {
    const { codes } = this.#style
    const own = codes?.[error.code] ?? (error.code === RATE_CAP ? (codes?.['busy'] ?? 'busy') : undefined)
    if (own === undefined) return error
    const { kind, message, retryAfterMs, cause } = error
    return new CairnError(kind, message, {
      ...(typeof own === 'string' ? { code: own, status: error.status } : own),
      cause,
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    })
  }

  /** The headers every answer carries; counts it. */
  complete(exchange: Exchange, { status, headers: given, body, held }: IngressResponse): CompletedResponse {
    const headers = guardedHeaders(given, exchange.host, this.#origins)
    const added = ['X-Corr-ID', exchange.corrId]
    const length = isStream(body) ? undefined : lengthOf(body)
    const hasLength = length !== undefined && status !== 204 && status !== 304
    if (hasLength && (exchange.method !== 'HEAD' || body !== undefined)) added.push('Content-Length', String(length))
    if (exchange.isLast || this.#shutdown.phase.value !== 'running') added.push('Connection', 'close')
    if (this.#origins.length > 0) added.push(...crossOriginHeaders(exchange.headers, this.#origins))
    this.#count(exchange, status, length)
    if (body === undefined || exchange.method === 'HEAD') {
      held?.[Symbol.dispose]()
      return { status, headers, added }
    }
    return held === undefined ? { status, headers, added, body } : { status, headers, added, body, held }
  }

  /** Hands over what has been counted and not yet reached the metrics. */
  flush(): void {
    this.#meter.flush()
  }

  #count(exchange: Exchange, status: number, bytesOut: number | undefined): void {
    const { metrics, clock } = this.#runtime
    const { served, method, startedAt } = exchange
    const now = clock.now()
    this.#log.note(exchange, status, now - startedAt, bytesOut)
    if (served?.route.lane !== 'ops') this.traffic.note(status, now - startedAt)
    if (served !== undefined) this.#meter.note(served, status, now - startedAt, now)
    else metrics.count('http_requests_total', { route: NO_ROUTE, method: knownMethod(method), status: String(status) })
  }
}

function lengthOf(body: string | Uint8Array | undefined): number {
  return typeof body === 'string' ? Buffer.byteLength(body) : (body?.length ?? 0)
}

const METHODS: readonly string[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

/** Labels have few values, whatever a client calls its method. */
function knownMethod(method: string): string {
  return METHODS.includes(method) ? method : 'other'
}
