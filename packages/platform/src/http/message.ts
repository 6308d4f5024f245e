/** A request and its answer as the pipeline sees them: plain data, no socket. */
import type { RequestHeaders } from './request-headers.ts'

export interface Peer {
  /** The other end's IP address; empty on a Unix socket. */
  readonly address: string
  readonly kind: 'tcp' | 'tls' | 'unix'
}

/**
 * How a request came in: by the listener for everybody, by the one for `metrics_addr`, or from another service in this
 * process. The last has no socket, so no client can claim it.
 */
export type Door = 'service' | 'metrics' | 'neighbour'

/** The bytes of a request as they come. */
export interface RequestBytes extends AsyncIterable<Uint8Array> {
  /** The piece was taken over and nobody looks at it again: its memory may go at once. */
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
  readonly door: Door
  /** The connection came after the limits on connections were reached. */
  readonly crowded: boolean
  /** Sends an answer before the final one (1xx). Does nothing once that has begun, and for a client that takes none. */
  inform?(status: number, headers: readonly string[]): void
  /** Fires when the client goes away. May be made on first use: whoever does not need it does not pay for it. */
  readonly signal: AbortSignal
}

export type ResponseBody = string | Uint8Array | AsyncIterable<Uint8Array>

export interface IngressResponse {
  readonly status: number
  /** `name, value, name, value …`; the length of a whole body is added when it is sent. */
  readonly headers: readonly string[]
  /** Bytes of a stream are needed until the next are asked for; those of a whole body until `held` is let go. */
  readonly body?: ResponseBody
  /** Let go once the answer is out, or its connection is gone: a buffer of a pool, for one. */
  readonly held?: Disposable
}

/** An answer, and the fields that are this request's and not the answer's own. */
export interface CompletedResponse extends IngressResponse {
  readonly added: readonly string[]
}

export function isStream(body: ResponseBody | undefined): body is AsyncIterable<Uint8Array> {
  return typeof body === 'object' && !(body instanceof Uint8Array)
}
