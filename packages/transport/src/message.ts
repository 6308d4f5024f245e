/** Requests and answers as a service sees them: plain data, so that a caller in the same process needs no socket. */

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

/** A request as plain data, without a socket. */
export interface RequestMessage {
  readonly method: string
  /** As it stands on the request line. */
  readonly target: string
  /** `name, value, name, value …` as received, so that a repeated field can be seen. */
  readonly headers: readonly string[]
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

export function isStream(body: ResponseBody | undefined): body is AsyncIterable<Uint8Array> {
  return typeof body === 'object' && !(body instanceof Uint8Array)
}
