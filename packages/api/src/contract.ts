/**
 * What a route promises: how it is asked, what it answers, what it refuses. A service adds a handler to each row; its
 * OpenAPI document, its tables in the docs and what its tests hold every answer against come from the same row.
 */
import { type Address, parseAddress, type Scope } from '@cairn/wire'
import { type core, z } from 'zod'

// Forms of texts that several contracts take; each carries its pattern into the OpenAPI document.

/** What an index can be asked for beside an address: wider than what a registry takes. */
export const LOOKUP_NAME = /^[a-z0-9][a-z0-9._@-]{0,252}$/

/** A text of which the document shows the form; `read` is the judge, and says what is wrong with another. */
export function textOf<T>(pattern: RegExp, read: (text: string) => T, length: { readonly maxLength?: number } = {}) {
  return z
    .string()
    .meta({ pattern: pattern.source, ...length })
    .transform(read)
}

/** `b3:` and 64 hex digits. */
export const address = textOf(/^b3:[0-9a-f]{64}$/, (text): Address => parseAddress(text))

/** How many of a page: 1 to `most`. */
export function pageLimit(most: number, otherwise: number = most) {
  return z.coerce.number().int().min(1).max(most).default(otherwise)
}

export type Method = 'GET' | 'PUT' | 'POST' | 'PATCH' | 'DELETE' | 'M-SEARCH'

/**
 * `ops` bypasses queues and admission. `inline` runs at once, on the request. `work` goes through the runner the
 * ingress was given, which is normally the service's work queue.
 */
export type Lane = 'ops' | 'inline' | 'work'

export type Schema = core.$ZodType

export interface ResponseRow {
  readonly description: string
  /** Of JSON; names every field there is. A client passes over those it does not know, since answers may grow. */
  readonly schema?: Schema
  /** `application/json` where there is a schema. */
  readonly mediaType?: string
}

/** `P`, `Q` and `B` are `undefined` where there are no parameters, no query, no body. */
export interface RouteContract<P, Q, B> {
  readonly method: Method
  /** `/o/:address`; a last segment `*` takes the rest of the path. A parameter `address` is what an address caveat is held against. */
  readonly path: string
  readonly summary: string
  readonly lane: Lane
  /** The capability the route asks for; without one it is open. */
  readonly scope?: Scope
  readonly params?: P
  readonly query?: Q
  /** A schema for JSON, or `bytes` for the body as it is. */
  readonly body?: B
  readonly responses: Readonly<Record<number, ResponseRow>>
  /** Codes of the route's own refusals, each with its status; those every route has are not repeated. */
  readonly errors?: Readonly<Record<string, number>>
}

/** Keeps the types of the row's schemas. */
export function contract<
  P extends Schema | undefined = undefined,
  Q extends Schema | undefined = undefined,
  B extends Schema | 'bytes' | undefined = undefined,
>(row: RouteContract<P, Q, B>): RouteContract<P, Q, B> {
  return row
}
