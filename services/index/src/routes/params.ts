/** What several routes take and answer, in one place. */

import { address, LOOKUP_NAME, textOf } from '@cairn/api'
import type { RequestContext } from '@cairn/http'
import type { IngressResponse } from '@cairn/transport'
import { type Address, entityTagOf, evaluatePreconditions } from '@cairn/wire'
import { z } from 'zod'
import { parseLookupKey } from '../domain/lookup.ts'

export type IndexRequestContext = RequestContext<unknown, unknown, unknown>

/** `b3:…` or `name:…`. */
export const KEY_FORM = new RegExp(`^(?:b3:[0-9a-f]{64}|name:${LOOKUP_NAME.source.slice(1, -1)})$`)
export const keyParams = z.strictObject({ key: textOf(KEY_FORM, parseLookupKey) })
export const cidParams = z.strictObject({ cid: address })

export const flag = z.enum(['true', 'false', '']).transform((text) => text !== 'false')

/** Clients may use an answer for as long; half of what it is kept here. */
const CACHING = 'public, max-age=5'
const FRESH = 'no-cache'

/** Refusals that every lookup can meet. */
export const lookupErrors = {
  bad_request: 400,
  not_found: 404,
  over_capacity: 429,
  upstream_unready: 503,
  timeout: 504,
} as const

export interface TaggedAnswer {
  readonly tag: Address
  readonly isFresh: boolean
  readonly type?: string
  /** Made only if the client does not have it. */
  readonly body: () => string
}

/** The answer, or that the client has it already. */
export function respondTagged(
  context: IndexRequestContext,
  nowMs: number,
  { tag, isFresh, type, body }: TaggedAnswer,
): IngressResponse {
  const etag = entityTagOf(tag)
  const headers = ['ETag', etag, 'Cache-Control', isFresh ? FRESH : CACHING]
  const ifNoneMatch = context.headers.get('if-none-match')
  if (ifNoneMatch !== undefined) {
    const conditional = { method: context.method, ifNoneMatch }
    if (evaluatePreconditions(conditional, { etag }, nowMs) === 'not-modified') return { status: 304, headers }
  }
  return { status: 200, headers: [...headers, 'Content-Type', type ?? 'application/json'], body: body() }
}
