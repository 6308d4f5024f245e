/** A representation as an HTTP answer: preconditions, ranges, headers, bytes. The same for every kind of source. */

import {
  byterangesFrame,
  empty,
  isSelective,
  problem,
  type RequestContext,
  rangeLength,
  selectBytes,
} from '@cairn/http'
import { CairnError, type Metrics } from '@cairn/kernel'
import type { IngressResponse } from '@cairn/transport'
import { type ByteRange, contentRange, type RangeOutcome } from '@cairn/wire'
import { invalidRange, preconditionFailed } from '../errors.ts'

export type EdgeRequestContext = RequestContext<unknown, unknown, unknown>

/** Bytes and what is known of them. */
export interface Representation {
  /** 200, or what a stored answer had; only 200 has ranges and preconditions. */
  readonly status: number
  readonly size: number
  /** As in the header; nothing where there is none. */
  readonly etag: string | undefined
  /** Unix seconds. */
  readonly lastModified?: number | undefined
  readonly type: string | undefined
  /** Without type, length and range. */
  readonly headers: readonly string[]
  /** Of the headers, those a 304 repeats. */
  readonly cachingHeaders: readonly string[]
  /** All of it, where that is in memory. */
  whole(): { readonly bytes: Uint8Array; readonly held?: Disposable } | undefined
  read(range: ByteRange): AsyncIterable<Uint8Array>
}

export interface Serving {
  readonly metrics: Metrics
  readonly nowMs: number
  readonly multiRange: boolean
  /** For the labels of what is counted. */
  readonly route: string
}

/** Decides from the headers, and counts. */
export function serve(context: EdgeRequestContext, what: Representation, serving: Serving): IngressResponse {
  const { headers } = context
  if (what.status !== 200 || !isSelective(headers)) return serveAll(context, what, serving)
  const { method } = context
  const selection = selectBytes({ method, headers, nowMs: serving.nowMs }, what, what.size)
  switch (selection.kind) {
    case 'not-modified':
      return empty(304, what.cachingHeaders)
    case 'precondition-failed':
      throw preconditionFailed()
    case 'unsatisfiable':
      return unsatisfiable(context, what.size, serving, `There are ${what.size} bytes; none of them is in the range.`)
    case 'single':
    case 'multiple':
    case 'whole':
      return serveRange(context, what, selection, serving)
  }
}

function serveRange(
  context: EdgeRequestContext,
  what: Representation,
  selection: Exclude<RangeOutcome, { kind: 'unsatisfiable' }>,
  serving: Serving,
): IngressResponse {
  const { headers, method } = context
  if (!serving.multiRange && isMultiple(headers.slot('range')) && method === 'GET')
    return unsatisfiable(context, what.size, serving, 'One range at a time is answered here.')
  switch (selection.kind) {
    case 'single':
      return servePart(context, what, selection.range, serving)
    case 'multiple':
      return serveParts(context, what, selection.ranges, serving)
    case 'whole':
      return serveAll(context, what, serving)
  }
}

/** Whether a Range header asks for more than one; what it asks for may still be nonsense. */
export function isMultiple(range: string | undefined): boolean {
  if (range === undefined || !range.includes(',')) return false
  return /^\s*bytes=/i.test(range) && range.split(',').filter((member) => member.trim() !== '').length > 1
}

/** 416, and how much there is. */
export function unsatisfiable(
  { corrId }: EdgeRequestContext,
  size: number | undefined,
  { metrics }: Pick<Serving, 'metrics'>,
  detail: string,
): IngressResponse {
  metrics.count('edge_range_requests_total', { result: '416' })
  metrics.count('edge_rejects_total', { reason: 'invalid_range' })
  const error = invalidRange(detail)
  const headers = ['X-Reason', error.code, ...(size === undefined ? [] : ['Content-Range', contentRange(size)])]
  return problem(error, corrId, { headers })
}

function typeHeaders({ type }: Representation): string[] {
  return type === undefined ? [] : ['Content-Type', type]
}

function serveAll(context: EdgeRequestContext, what: Representation, serving: Serving): IngressResponse {
  const { status, size } = what
  const headers = [...what.headers, ...typeHeaders(what)]
  const hasNoBody = status === 204 || status === 205
  if (hasNoBody) return empty(status, headers)
  if (context.method === 'HEAD') return empty(status, [...headers, 'Content-Length', String(size)])
  countOut(serving.metrics, serving.route, size)
  const whole = what.whole()
  if (whole !== undefined)
    return { status, headers, body: whole.bytes, ...(whole.held === undefined ? {} : { held: whole.held }) }
  if (size === 0) return { status, headers, body: new Uint8Array(0) }
  const body = what.read({ first: 0, last: size - 1 })
  return { status, headers: [...headers, 'Content-Length', String(size)], body }
}

function servePart(
  context: EdgeRequestContext,
  what: Representation,
  range: ByteRange,
  serving: Serving,
): IngressResponse {
  const length = rangeLength(range)
  const headers = [...what.headers, ...typeHeaders(what), 'Content-Range', contentRange(what.size, range)]
  countPart(serving, length)
  if (context.method === 'HEAD') return empty(206, [...headers, 'Content-Length', String(length)])
  const whole = what.whole()
  if (whole !== undefined) {
    const body = whole.bytes.subarray(range.first, range.last + 1)
    return { status: 206, headers, body, ...(whole.held === undefined ? {} : { held: whole.held }) }
  }
  return { status: 206, headers: [...headers, 'Content-Length', String(length)], body: what.read(range) }
}

function serveParts(
  { corrId, method }: EdgeRequestContext,
  what: Representation,
  ranges: readonly ByteRange[],
  serving: Serving,
): IngressResponse {
  const boundary = `cairn-${corrId}`
  const type = what.type ?? 'application/octet-stream'
  const frame = byterangesFrame(ranges, what.size, type, boundary)
  const headers = [
    ...what.headers,
    'Content-Type',
    `multipart/byteranges; boundary=${boundary}`,
    'Content-Length',
    String(frame.length),
  ]
  countPart(serving, frame.length)
  if (method === 'HEAD') return empty(206, headers)
  const parts = async function* (): AsyncGenerator<Uint8Array> {
    for (const [at, range] of ranges.entries()) {
      yield frame.heads[at] ?? frame.tail
      yield* what.read(range)
    }
    yield frame.tail
  }
  return { status: 206, headers, body: parts() }
}

function countPart({ metrics, route }: Serving, length: number): void {
  metrics.count('edge_range_requests_total', { result: '206' })
  countOut(metrics, route, length)
}

const B3 = { route: 'b3' }
const PACKS = { route: 'p' }

/** Counts bytes that leave; the same labels object each time costs next to nothing. */
export function countOut(metrics: Metrics, route: string, bytes: number): void {
  const labels = route === 'b3' ? B3 : route === 'p' ? PACKS : { route }
  metrics.count('edge_bytes_out_total', labels, bytes)
}

/** An answer to be given again and again: the text of frozen headers is put together once. */
export function frozen(answer: IngressResponse): IngressResponse {
  return { ...answer, headers: Object.freeze([...answer.headers]) }
}

/** Bytes in memory as a source. */
export function inMemory(bytes: Uint8Array): Pick<Representation, 'size' | 'whole' | 'read'> {
  return {
    size: bytes.length,
    whole: () => ({ bytes }),
    read: async function* ({ first, last }) {
      yield await Promise.resolve(bytes.subarray(first, last + 1))
    },
  }
}

/** All of a short body. `TooLarge` if it is longer. */
export async function collect(body: AsyncIterable<Uint8Array>, bytesMax: number): Promise<Uint8Array> {
  const pieces: Uint8Array[] = []
  let length = 0
  for await (const piece of body) {
    length += piece.length
    if (length > bytesMax) throw new CairnError('TooLarge', `This has more than ${bytesMax} bytes.`)
    pieces.push(piece.slice())
  }
  const all = new Uint8Array(length)
  let at = 0
  for (const piece of pieces) {
    all.set(piece, at)
    at += piece.length
  }
  return all
}
