/** An object as an HTTP answer: preconditions, ranges, and the headers every answer about it has. Reads nothing. */
import { CairnError } from '@cairn/kernel'
import {
  type ByteRange,
  contentRange,
  entityTagOf,
  evaluatePreconditions,
  type RangeOutcome,
  selectRange,
} from '@cairn/wire'
import { servedType } from './content-type.ts'
import type { BodyPart } from './object-bytes.ts'
import type { StoredObject } from './object-reader.ts'
import { windowsOf } from './window-core.ts'

/** The fields of a request that decide how an object is answered. */
export interface ObjectRequest {
  readonly method: string
  readonly header: (name: string) => string | undefined
  readonly nowMs: number
  /** New for each answer, and unknown to whoever stored the object: parts of a multipart body end at it. */
  readonly boundary: string
  /** Reads need a capability, so no shared cache may keep the answer. */
  readonly isPrivate: boolean
}

export type ObjectAnswer =
  | { readonly tag: 'not-modified'; readonly headers: readonly string[] }
  | { readonly tag: 'precondition-failed' }
  | { readonly tag: 'unsatisfiable'; readonly headers: readonly string[]; readonly detail: string }
  | {
      readonly tag: 'bytes'
      readonly status: 200 | 206
      readonly range: 'whole' | 'single' | 'multiple'
      /** Without the length. */
      readonly headers: readonly string[]
      readonly length: number
      readonly parts: () => Iterable<BodyPart>
    }

export function answerObject(object: StoredObject, request: ObjectRequest): ObjectAnswer {
  const etag = entityTagOf(object.id)
  const cacheable = cachingHeaders(etag, request.isPrivate)
  const conditional = {
    method: request.method,
    ifMatch: request.header('if-match'),
    ifNoneMatch: request.header('if-none-match'),
    ifModifiedSince: request.header('if-modified-since'),
    ifUnmodifiedSince: request.header('if-unmodified-since'),
  }
  switch (evaluatePreconditions(conditional, { etag }, request.nowMs)) {
    case 'not-modified':
      return { tag: 'not-modified', headers: cacheable }
    case 'precondition-failed':
      return { tag: 'precondition-failed' }
    case 'proceed': {
      const asked = { method: request.method, range: request.header('range'), ifRange: request.header('if-range') }
      const outcome = selectRange(asked, etag, object.facts.size)
      return answerRange(object, outcome, [...cacheable, ...guardHeaders(request.isPrivate)], request.boundary)
    }
  }
}

export function preconditionFailed(): CairnError {
  const detail = 'The object is not the one the request names.'
  return new CairnError('Conflict', detail, { code: 'precondition_failed', status: 412 })
}

/** What a 304 repeats. An address never means other bytes, so whoever may keep them may keep them for ever. */
export function cachingHeaders(etag: string, isPrivate: boolean): string[] {
  const caching = isPrivate ? 'private, no-cache' : 'public, max-age=31536000, immutable'
  return ['ETag', etag, 'Vary', 'Accept-Encoding', 'Cache-Control', caching]
}

/** Stored bytes are anybody's: no browser may take them for a page of ours. */
export function guardHeaders(isPrivate: boolean): string[] {
  return [
    'X-Content-Type-Options',
    'nosniff',
    'Content-Security-Policy',
    "sandbox; default-src 'none'",
    'Cross-Origin-Resource-Policy',
    isPrivate ? 'same-origin' : 'cross-origin',
  ]
}

function answerRange(
  object: StoredObject,
  outcome: RangeOutcome,
  common: readonly string[],
  boundary: string,
): ObjectAnswer {
  const { size, chunkSize } = object.facts
  const { type, isDownload } = servedType(object.facts.type)
  const all = [...common, 'Accept-Ranges', 'bytes', ...(isDownload ? ['Content-Disposition', 'attachment'] : [])]
  const typed = [...all, 'Content-Type', type]
  const partsOf = (range: ByteRange) => (): Iterable<BodyPart> => windowParts(range, chunkSize)
  switch (outcome.kind) {
    case 'unsatisfiable': {
      const detail = `The object has ${size} bytes; none of them is in the range.`
      return { tag: 'unsatisfiable', headers: ['Content-Range', contentRange(size)], detail }
    }
    case 'single': {
      const { range } = outcome
      const headers = [...typed, 'Content-Range', contentRange(size, range)]
      return { tag: 'bytes', status: 206, range: 'single', headers, length: lengthOf(range), parts: partsOf(range) }
    }
    case 'multiple': {
      const headers = [...all, 'Content-Type', `multipart/byteranges; boundary=${boundary}`]
      const frame = frameOf(outcome.ranges, size, type, boundary)
      const length = outcome.ranges.reduce((sum, range) => sum + lengthOf(range), frame.bytes)
      const parts = (): Iterable<BodyPart> => multipart(outcome.ranges, frame, chunkSize)
      return { tag: 'bytes', status: 206, range: 'multiple', headers, length, parts }
    }
    case 'whole': {
      const parts = partsOf({ first: 0, last: size - 1 })
      return { tag: 'bytes', status: 200, range: 'whole', headers: typed, length: size, parts }
    }
  }
}

function lengthOf({ first, last }: ByteRange): number {
  return last + 1 - first
}

function* windowParts(range: ByteRange, chunkSize: number): Generator<BodyPart> {
  for (const window of windowsOf(range, chunkSize)) yield { tag: 'window', window }
}

/** What stands before each part, and after the last. */
interface Frame {
  readonly heads: readonly Uint8Array[]
  readonly tail: Uint8Array
  /** All of it together. */
  readonly bytes: number
}

function frameOf(ranges: readonly ByteRange[], size: number, type: string, boundary: string): Frame {
  const encoder = new TextEncoder()
  const heads = ranges.map((range, at) => {
    const start = at === 0 ? '' : '\r\n'
    const fields = `Content-Type: ${type}\r\nContent-Range: ${contentRange(size, range)}`
    return encoder.encode(`${start}--${boundary}\r\n${fields}\r\n\r\n`)
  })
  const tail = encoder.encode(`\r\n--${boundary}--\r\n`)
  return { heads, tail, bytes: heads.reduce((sum, head) => sum + head.length, tail.length) }
}

function* multipart(ranges: readonly ByteRange[], { heads, tail }: Frame, chunkSize: number): Generator<BodyPart> {
  for (const [at, range] of ranges.entries()) {
    yield { tag: 'text', bytes: heads[at] ?? tail }
    yield* windowParts(range, chunkSize)
  }
  yield { tag: 'text', bytes: tail }
}
