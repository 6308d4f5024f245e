/** What a conditional or ranged request gets of a representation: decided from its headers alone, nothing is read. */
import {
  type ByteRange,
  type CurrentState,
  contentRange,
  evaluatePreconditions,
  type PreconditionOutcome,
  type RangeOutcome,
  selectRange,
} from '@cairn/wire'
import type { RequestHeaders } from '../request/request-headers.ts'

export interface SelectingRequest {
  readonly method: string
  readonly headers: Pick<RequestHeaders, 'slot'>
  /** Wall time; serves only two-digit years in dates. */
  readonly nowMs: number
}

/** `whole`, `single`, `multiple` and `unsatisfiable` are those of the range; the others come before it. */
export type Selection = RangeOutcome | { readonly kind: 'not-modified' } | { readonly kind: 'precondition-failed' }

const CONDITIONS = ['if-match', 'if-none-match', 'if-modified-since', 'if-unmodified-since', 'range'] as const

/** Whether a request says anything that `selectBytes` would have to look at. Most do not. */
export function isSelective(headers: SelectingRequest['headers']): boolean {
  return CONDITIONS.some((name) => headers.slot(name) !== undefined)
}

/** Preconditions in the order of RFC 9110 §13.2.2, then the range. */
export function selectBytes(request: SelectingRequest, current: CurrentState, size: number): Selection {
  const outcome = judgeConditions(request, current)
  if (outcome !== 'proceed') return { kind: outcome }
  const { method, headers } = request
  return selectRange({ method, range: headers.slot('range'), ifRange: headers.slot('if-range') }, current.etag, size)
}

/** The preconditions alone, where it is not known yet how many bytes there are. */
export function judgeConditions(
  { method, headers, nowMs }: SelectingRequest,
  current: CurrentState,
): PreconditionOutcome {
  const conditional = {
    method,
    ifMatch: headers.slot('if-match'),
    ifNoneMatch: headers.slot('if-none-match'),
    ifModifiedSince: headers.slot('if-modified-since'),
    ifUnmodifiedSince: headers.slot('if-unmodified-since'),
  }
  return evaluatePreconditions(conditional, current, nowMs)
}

export function rangeLength({ first, last }: ByteRange): number {
  return last + 1 - first
}

/** What stands before each part of a multipart/byteranges body, and after the last. */
export interface ByterangesFrame {
  readonly heads: readonly Uint8Array[]
  readonly tail: Uint8Array
  /** Of the whole body, parts included. */
  readonly length: number
}

/** `boundary` is new for each answer, and unknown to the author of the bytes: parts end at it. */
export function byterangesFrame(
  ranges: readonly ByteRange[],
  size: number,
  type: string,
  boundary: string,
): ByterangesFrame {
  const encoder = new TextEncoder()
  const heads = ranges.map((range, at) => {
    const start = at === 0 ? '' : '\r\n'
    const fields = `Content-Type: ${type}\r\nContent-Range: ${contentRange(size, range)}`
    return encoder.encode(`${start}--${boundary}\r\n${fields}\r\n\r\n`)
  })
  const tail = encoder.encode(`\r\n--${boundary}--\r\n`)
  const framing = heads.reduce((sum, head) => sum + head.length, tail.length)
  return { heads, tail, length: ranges.reduce((sum, range) => sum + rangeLength(range), framing) }
}
