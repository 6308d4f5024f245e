/** Requests and answers as the pipeline sees them, plain data without a socket, and makers of common answers. */
import { CairnError, ERRORS } from '@cairn/kernel'
import { PROBLEM_MEDIA_TYPE, problemOf } from '@cairn/wire'
import type { RequestHeaders } from './request-headers.ts'

const JSON_HEADERS: readonly string[] = ['Content-Type', 'application/json']

/** Makes an answer with `value` as JSON. */
export function json(status: number, value: unknown, headers: readonly string[] = []): IngressResponse {
  const all = headers.length === 0 ? JSON_HEADERS : [...JSON_HEADERS, ...headers]
  return { status, headers: all, body: JSON.stringify(value) }
}

/** Makes an answer without a body. */
export function empty(status: number, headers: readonly string[] = []): IngressResponse {
  return { status, headers }
}

/** When to try again, if the error does not say. */
const RETRY_AFTER_MS = 1000

/** Fields beside those of the problem itself, and headers beside those every problem has. */
export interface ProblemExtras {
  readonly fields?: Readonly<Record<string, unknown>>
  readonly headers?: readonly string[]
}

/** Makes the answer to a refusal or a failure, with everything its status demands. */
export function problem(
  error: CairnError,
  corrId: string,
  { fields, headers = [] }: ProblemExtras = {},
): IngressResponse & { readonly body: string } {
  const told = withRetryTime(error)
  const body = problemOf(told, corrId)
  const all = ['Content-Type', PROBLEM_MEDIA_TYPE, 'Cache-Control', 'no-store', ...headers]
  if (body.retry_after !== undefined) all.push('Retry-After', String(body.retry_after))
  if (told.status === 401) all.push('WWW-Authenticate', `Bearer realm="cairn", error="${told.code}"`)
  return {
    status: told.status,
    headers: all,
    body: JSON.stringify(fields === undefined ? body : { ...body, ...fields }),
  }
}

/** 429 and 503 always say when to come back. */
function withRetryTime(error: CairnError): CairnError {
  const { kind, message, code, status, retryAfterMs } = error
  if (retryAfterMs !== undefined || (status !== 429 && status !== 503)) return error
  const isOurs = kind === 'Internal'
  return new CairnError(kind, isOurs ? ERRORS[kind].when : message, { code, status, retryAfterMs: RETRY_AFTER_MS })
}

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

export interface IngressRequest {
  readonly method: string
  /** As it stands on the request line. */
  readonly target: string
  /** `name, value, name, value …` as received, so that a repeated field can be seen; or the same, read already. */
  readonly headers: readonly string[] | RequestHeaders
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

/** An answer, and the fields that are this request's and not the answer's own. */
export interface CompletedResponse extends IngressResponse {
  readonly added: readonly string[]
}

export function isStream(body: ResponseBody | undefined): body is AsyncIterable<Uint8Array> {
  return typeof body === 'object' && !(body instanceof Uint8Array)
}
