/** An object as an HTTP answer: preconditions, ranges, and the headers every answer about it has. */
import { CairnError } from '@cairn/kernel'
import { type IngressResponse, problem } from '@cairn/platform'
import {
  type ByteRange,
  contentRange,
  entityTagOf,
  evaluatePreconditions,
  type RangeOutcome,
  selectRange,
} from '@cairn/wire'
import { servedType } from './content-type.ts'
import type { StoredObject } from './object-reader.ts'

/** The fields of a request that decide how an object is answered. */
export interface ObjectRequest {
  readonly method: string
  readonly header: (name: string) => string | undefined
  readonly nowMs: number
  readonly corrId: string
  /** Reads need a capability, so no shared cache may keep the answer. */
  readonly isPrivate: boolean
}

export type ReadRange = (range: ByteRange) => AsyncIterable<Uint8Array>

const IMMUTABLE = 'public, max-age=31536000, immutable'

export function answerObject(object: StoredObject, request: ObjectRequest, read: ReadRange): IngressResponse {
  const { facts } = object
  const etag = entityTagOf(object.id)
  const headers = objectHeaders(object, etag, request.isPrivate)
  const conditional = {
    method: request.method,
    ifMatch: request.header('if-match'),
    ifNoneMatch: request.header('if-none-match'),
    ifModifiedSince: request.header('if-modified-since'),
    ifUnmodifiedSince: request.header('if-unmodified-since'),
  }
  switch (evaluatePreconditions(conditional, { etag }, request.nowMs)) {
    case 'not-modified':
      return { status: 304, headers: headers.cacheable }
    case 'precondition-failed':
      throw new CairnError('Conflict', 'The object is not the one the request names.', {
        code: 'precondition_failed',
        status: 412,
      })
    case 'proceed': {
      const asked = { method: request.method, range: request.header('range'), ifRange: request.header('if-range') }
      return answerRange(selectRange(asked, etag, facts.size), facts.size, { headers, read, corrId: request.corrId })
    }
  }
}

interface ObjectHeaders {
  /** What a 304 repeats. */
  readonly cacheable: readonly string[]
  readonly all: readonly string[]
  readonly type: string
}

function objectHeaders({ facts }: StoredObject, etag: string, isPrivate: boolean): ObjectHeaders {
  const { type, isDownload } = servedType(facts.type)
  const cacheable = [
    'ETag',
    etag,
    'Vary',
    'Accept-Encoding',
    'Cache-Control',
    isPrivate ? 'private, no-cache' : IMMUTABLE,
  ]
  const all = [
    ...cacheable,
    'Accept-Ranges',
    'bytes',
    'X-Content-Type-Options',
    'nosniff',
    'Content-Security-Policy',
    "sandbox; default-src 'none'",
    'Cross-Origin-Resource-Policy',
    'cross-origin',
    ...(isDownload ? ['Content-Disposition', 'attachment'] : []),
  ]
  return { cacheable, all, type }
}

interface Answering {
  readonly headers: ObjectHeaders
  readonly read: ReadRange
  readonly corrId: string
}

function answerRange(outcome: RangeOutcome, size: number, answering: Answering): IngressResponse {
  const { headers, read, corrId } = answering
  const typed = [...headers.all, 'Content-Type', headers.type]
  switch (outcome.kind) {
    case 'unsatisfiable': {
      const detail = `The object has ${size} bytes; none of them is in the range.`
      const error = new CairnError('Malformed', detail, { code: 'range_not_satisfiable', status: 416 })
      return problem(error, corrId, { headers: ['Content-Range', contentRange(size)] })
    }
    case 'single': {
      const { range } = outcome
      const own = ['Content-Range', contentRange(size, range), ...lengthOf(range)]
      return { status: 206, headers: [...typed, ...own], body: read(range) }
    }
    case 'multiple':
      return multipart(outcome.ranges, size, answering)
    case 'whole': {
      const whole = [...typed, 'Content-Length', String(size)]
      if (size === 0) return { status: 200, headers: whole }
      return { status: 200, headers: whole, body: read({ first: 0, last: size - 1 }) }
    }
  }
}

function lengthOf({ first, last }: ByteRange): string[] {
  return ['Content-Length', String(last + 1 - first)]
}

function multipart(ranges: readonly ByteRange[], size: number, answering: Answering): IngressResponse {
  const { headers, read, corrId } = answering
  // New for each answer: whoever stored the object cannot have put it into the bytes.
  const boundary = `cairn-${corrId}`
  const encoder = new TextEncoder()
  const heads = ranges.map((range, at) => {
    const start = at === 0 ? '' : '\r\n'
    return encoder.encode(
      `${start}--${boundary}\r\nContent-Type: ${headers.type}\r\nContent-Range: ${contentRange(size, range)}\r\n\r\n`,
    )
  })
  const tail = encoder.encode(`\r\n--${boundary}--\r\n`)
  const bodyBytes = ranges.reduce((sum, { first, last }) => sum + last + 1 - first, 0)
  const length = heads.reduce((sum, head) => sum + head.length, tail.length + bodyBytes)
  async function* body(): AsyncGenerator<Uint8Array> {
    for (const [at, range] of ranges.entries()) {
      yield heads[at] ?? tail
      yield* read(range)
    }
    yield tail
  }
  const type = `multipart/byteranges; boundary=${boundary}`
  return {
    status: 206,
    headers: [...headers.all, 'Content-Type', type, 'Content-Length', String(length)],
    body: body(),
  }
}
