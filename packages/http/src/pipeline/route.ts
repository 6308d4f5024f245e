/**
 * Routes, declared. One table feeds the router, the OpenAPI document, the tables in the docs and the labels of
 * the metrics; what is not in it is not served.
 */
import type { RouteContract, Schema } from '@cairn/api'
import type { Deadline } from '@cairn/kernel'
import type { IngressResponse, Peer } from '@cairn/transport'
import type { Scope, Token } from '@cairn/wire'
import type { z } from 'zod'
import type { RequestHeaders } from '../request/request-headers.ts'

/** What is known of a request before its body is read. */
export interface RequestHead {
  /** As sent; `HEAD` on a `GET` route. */
  readonly method: string
  /** In normal form. */
  readonly path: string
  /** Raw, without `?`. */
  readonly queryText: string
  /** The host name the client used, lower case, without port. */
  readonly host: string
  readonly headers: RequestHeaders
  readonly peer: Peer
  /** The socket's peer, or the client a trusted proxy names; empty on a Unix socket. */
  readonly clientAddress: string
  readonly corrId: string
}

export interface RequestContext<Params, Query, Body> extends RequestHead {
  readonly params: Params
  readonly query: Query
  /** Decoded, whole; empty where `stream` is set. */
  readonly body: Body
  /** The body as it comes, where this request streams it. A piece is good until the next is asked for. */
  readonly stream: AsyncIterable<Uint8Array> | undefined
  /** The capability that let the request in, on routes with a scope. */
  readonly token: Token | undefined
  /** The smaller of what the client asked for and what the route allows; time in queues counts. */
  readonly deadline: Deadline
  /** Fires when the client leaves, the budget is gone, or the service stops. Made on first use. */
  readonly signal: AbortSignal
  /** Sends an answer before the final one: 102, 103 and the like. */
  inform(status: number, headers: readonly string[]): void
  /** Fires when the service starts to drain: a stream that could go on for ever ends now. */
  readonly draining: AbortSignal
}

export interface RouteLimits {
  /** Most body bytes on the wire; `max_body_bytes` otherwise. */
  readonly bodyBytes?: number
  /** The same for a request that streams; as for any other otherwise. */
  readonly streamBytes?: number
  /** The server's budget; `request_timeout` otherwise. */
  readonly timeoutMs?: number
  /**
   * This request streams: it counts against `max_streams` and not in flight, has no total budget but the client's,
   * and its body, in the identity coding only, is handed over as it comes.
   */
  readonly stream?: boolean | ((head: RequestHead) => boolean)
  /**
   * The handler judges itself how many of all clients it takes, a second and at once, when it knows whom it serves:
   * what is not genuine takes nothing from what is. The rate of one address is judged before it, as everywhere.
   */
  readonly admission?: 'handler'
}

type ParamsOf<S> = S extends Schema ? z.output<S> : Readonly<Record<string, string | undefined>>
type QueryOf<S> = S extends Schema ? z.output<S> : undefined
type BodyOf<S> = S extends Schema ? z.output<S> : S extends 'bytes' ? Uint8Array : undefined

/** What a route promises, and how this service serves it. */
export interface RouteRow<P, Q, B> extends RouteContract<P, Q, B> {
  /** What this request needs in place of the route's own scope, by what its query asks for. */
  readonly scopeInstead?: (head: RequestHead) => Scope | undefined
  /** One more that this request needs, for what its query asks for beside. */
  readonly furtherScope?: (head: RequestHead) => Scope | undefined
  readonly limits?: RouteLimits
  handler(context: RequestContext<ParamsOf<P>, QueryOf<Q>, BodyOf<B>>): IngressResponse | Promise<IngressResponse>
}

/** What the handler of a row is given. */
export type ContextOf<R> =
  R extends RouteContract<infer P, infer Q, infer B> ? RequestContext<ParamsOf<P>, QueryOf<Q>, BodyOf<B>> : never

/** A row whose schemas have been checked against its handler, so that rows of all kinds fit one table. */
export interface Route extends Omit<RouteRow<Schema, Schema, Schema | 'bytes'>, 'handler'> {
  handler(context: RequestContext<unknown, unknown, unknown>): IngressResponse | Promise<IngressResponse>
}

export type RouteTable = readonly Route[]

/** Checks the handler against the row's schemas. */
export function route<
  P extends Schema | undefined = undefined,
  Q extends Schema | undefined = undefined,
  B extends Schema | 'bytes' | undefined = undefined,
>(row: RouteRow<P, Q, B>): Route {
  return row as Route
}

/** Checks that the table makes sense by itself. */
export function defineRoutes(rows: readonly Route[]): RouteTable {
  const seen = new Set<string>()
  for (const row of rows) {
    const name = `${row.method} ${row.path}`
    if (seen.has(name)) throw new TypeError(`${name} is declared twice.`)
    seen.add(name)
    if (!row.path.startsWith('/') || /\/\/|[?#%]|.\/$/.test(row.path))
      throw new TypeError(`${name}: a path starts with / and holds no //, query, escape or trailing slash.`)
    if (row.body !== undefined && row.method === 'GET') throw new TypeError(`${name}: a GET takes no body.`)
    if (row.body !== undefined && row.body !== 'bytes' && row.limits?.stream !== undefined)
      throw new TypeError(`${name}: a route that streams takes bytes; it may read JSON out of them itself.`)
    if (row.limits?.admission !== undefined && row.limits.stream !== true)
      throw new TypeError(`${name}: a handler that counts its requests itself has to read them itself: let it stream.`)
    if (row.lane === 'ops' && (row.body !== undefined || row.scope !== undefined || row.limits !== undefined))
      throw new TypeError(`${name}: an ops route has no body, scope or limits.`)
  }
  return rows
}
