/** Answers that are handed on as they come, in the coding that the client takes, and 304 to whoever has them. */

import { empty, judgeConditions } from '@cairn/http'
import { CairnError, type Runtime } from '@cairn/kernel'
import { type Inflate, openCoded } from '@cairn/platform'
import type { IngressResponse } from '@cairn/transport'
import { addressOf, entityTagOf, parseHttpDate } from '@cairn/wire'
import { ageAndCacheHeaders, cachingHeaders, growingHeaders, headerArray, withVary } from '../answers/entry-answer.ts'
import { accepts, knownCoding, SANDBOXED } from '../answers/response-headers.ts'
import { collect, type EdgeRequestContext, inMemory, type Serving, serve } from '../answers/serve.ts'
import type { CacheOutcome } from '../caching/reuse.ts'
import { freshnessOf, type HeaderMap, type ResponseHead } from '../caching/stored-response.ts'
import type { EdgeConfig } from '../config.ts'
import { badUpstream, inflatesTooFar, preconditionFailed } from '../errors.ts'
import type { UpstreamRoute } from './upstream-route.ts'

/** Whom it is for. */
export interface PassOnRequest {
  readonly context: EdgeRequestContext
  readonly config: EdgeConfig
  readonly route: UpstreamRoute
  readonly acceptEncoding: string | undefined
}

export interface PassOnDependencies {
  readonly runtime: Runtime
  readonly inflate: Inflate
}

/** An answer of an upstream on its way through. */
export interface Passing {
  readonly head: ResponseHead
  /** Those of its headers that are kept. */
  readonly headers: HeaderMap
  readonly length: string | undefined
  readonly body: AsyncIterable<Uint8Array> | undefined
  /** Of the body that nobody reads. */
  readonly letGo: () => void
}

export function servingOf({ clock, metrics }: Runtime, { config, route }: PassOnRequest): Serving {
  return { metrics, nowMs: clock.wall(), multiRange: config.http.enable_multi_range, route: route.name }
}

/** An answer that is not stored, or not yet: as it comes, and 304 to whoever has it. */
export function passOn(
  machine: PassOnDependencies,
  asked: PassOnRequest,
  { head, headers, length, body, letGo }: Passing,
  outcome: CacheOutcome,
): IngressResponse | Promise<IngressResponse> {
  const { context } = asked
  const { status } = head
  const told = ageAndCacheHeaders(freshnessOf(head), machine.runtime.clock.wall(), outcome)
  const coding = knownCoding(headers['content-encoding'])
  const isBodyless = status === 204 || status === 205 || status === 304
  if (coding !== undefined && body !== undefined && !isBodyless && !accepts(asked.acceptEncoding, coding))
    return decoded(machine, asked, { status, headers, body }, told)
  const judgement = judged(context, head)
  if (judgement !== 'proceed') letGo()
  if (judgement === 'not-modified') return empty(304, [...cachingHeaders(headers), ...told])
  if (judgement === 'precondition-failed') throw preconditionFailed()
  const type = headers['content-type']
  const described = [...growingHeaders(headers), ...(type === undefined ? [] : ['Content-Type', type]), ...told]
  const isHead = context.method === 'HEAD'
  if (length !== undefined && (isHead || !isBodyless)) described.push('Content-Length', length)
  if (!isHead && !isBodyless && body !== undefined) return { status, headers: described, body }
  letGo()
  return { status, headers: described }
}

interface Coded {
  readonly status: number
  readonly headers: HeaderMap
  readonly body: AsyncIterable<Uint8Array>
}

/** The same without its coding, for a client that does not take it: another representation, with another tag. */
export async function decoded(
  { runtime, inflate }: PassOnDependencies,
  asked: PassOnRequest,
  { status, headers, body }: Coded,
  told: readonly string[],
): Promise<IngressResponse> {
  const { decompress_max_bytes: bytesMax, decompress_max_ratio: ratioMax } = asked.config.ingress
  const coding = knownCoding(headers['content-encoding'])
  if (coding === undefined) throw badUpstream('uses a coding that is not known')
  let bytes: Uint8Array
  try {
    bytes = await openCoded(inflate, coding, await collect(body, bytesMax), { bytesMax, ratioMax })
  } catch (error) {
    if (error instanceof CairnError && error.kind === 'TooLarge') throw inflatesTooFar(bytesMax)
    throw error instanceof CairnError && error.kind === 'Malformed' ? badUpstream('sent a broken coding') : error
  }
  const { 'content-encoding': _coding, etag: _etag, 'content-md5': _md5, ...rest } = withVary(headers)
  const etag = entityTagOf(addressOf(bytes))
  const described = [...headerArray(rest, new Set(['content-type', 'age'])), 'ETag', etag, ...told]
  const what = {
    status,
    etag,
    type: headers['content-type'],
    headers: [...described, 'Accept-Ranges', 'bytes', ...SANDBOXED],
    cachingHeaders: described,
    ...inMemory(bytes),
  }
  return serve(asked.context, what, servingOf(runtime, asked))
}

/** What the client's conditions come to, for what the upstream just sent us and we do not keep. */
function judged({ method, headers }: EdgeRequestContext, head: ResponseHead): ReturnType<typeof judgeConditions> {
  if (head.status !== 200) return 'proceed'
  const nowMs = head.receivedAt
  const { etag, 'last-modified': modified } = head.headers
  const current = { etag, lastModified: parseHttpDate(modified ?? '', nowMs) }
  return judgeConditions({ method, headers, nowMs }, current)
}
