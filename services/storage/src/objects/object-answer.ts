/** An object as an HTTP answer: preconditions, ranges, and the headers every answer about it has. Reads nothing. */

import {
  type ByterangesFrame,
  byterangesFrame,
  isSelective,
  type RequestContext,
  rangeLength,
  selectBytes,
} from '@cairn/http'
import { CairnError } from '@cairn/kernel'
import type { ObjectFacts } from '@cairn/store'
import { type ByteRange, contentRange, entityTagOf, type RangeOutcome } from '@cairn/wire'
import type { BodyPart } from './object-bytes.ts'
import type { LocatedObject } from './object-reader.ts'
import { type ChunkWindow, windowsOf } from './window-core.ts'

/** Types a browser cannot be made to run as a page of ours. Everything else leaves as a download. */
const INERT =
  /^(image\/(?!svg)[\w.+-]+|audio\/[\w.+-]+|video\/[\w.+-]+|font\/[\w.+-]+|text\/plain|application\/json|application\/octet-stream)$/

const OCTETS = 'application/octet-stream'

/** The media type to remember of a put: short, plain, without parameters but a charset of text. */
export function rememberedType(header: string | undefined): string {
  const [type = ''] = (header ?? '').split(';')
  const plain = type.trim().toLowerCase()
  return plain.length <= 100 && INERT.test(plain) ? plain : OCTETS
}

/** How the object leaves: its remembered type if that is inert, else octets to be saved. */
function servedType(remembered: string): { readonly type: string; readonly isDownload: boolean } {
  if (!INERT.test(remembered)) return { type: OCTETS, isDownload: true }
  return { type: remembered, isDownload: remembered === OCTETS }
}

/** What a request says that decides how an object is answered. */
export interface ObjectRequest {
  readonly method: string
  readonly headers: RequestContext<unknown, unknown, unknown>['headers']
  readonly nowMs: number
  /** New for each answer, and unknown to whoever stored the object: parts of a multipart body end at it. */
  readonly boundary: string
}

export interface BytesAnswer {
  readonly tag: 'bytes'
  readonly status: 200 | 206
  readonly range: 'whole' | 'single' | 'multiple'
  /** Without the length. */
  readonly headers: readonly string[]
  readonly length: number
  readonly parts: () => Iterable<BodyPart>
  /** The whole body, where that is a piece of one chunk. */
  readonly onePiece: ChunkWindow | undefined
}

export type ObjectAnswer =
  | { readonly tag: 'not-modified'; readonly headers: readonly string[] }
  | { readonly tag: 'precondition-failed' }
  | { readonly tag: 'unsatisfiable'; readonly headers: readonly string[]; readonly detail: string }
  | BytesAnswer

export class ObjectResponder {
  readonly #isPrivate: boolean
  /** Most requests want all of it and say nothing else: answered alike, for as long as somebody knows the facts. */
  readonly #whole = new WeakMap<ObjectFacts, BytesAnswer>()

  /** Where reads need a capability, no shared cache may keep the answer. */
  constructor(isPrivate: boolean) {
    this.#isPrivate = isPrivate
  }

  to(request: ObjectRequest, object: LocatedObject): ObjectAnswer {
    return isSelective(request.headers) ? this.#toConditional(request, object) : this.#all(object)
  }

  #all(object: LocatedObject): BytesAnswer {
    const known = this.#whole.get(object.facts)
    if (known !== undefined) return known
    // Frozen, the same list stands for the same text each time it is sent.
    const answer = wholeAnswer(object, Object.freeze(typedHeaders(object, this.#commonHeaders(object))))
    this.#whole.set(object.facts, answer)
    return answer
  }

  #toConditional(request: ObjectRequest, object: LocatedObject): ObjectAnswer {
    const etag = entityTagOf(object.id)
    const selection = selectBytes(request, { etag }, object.facts.size)
    if (selection.kind === 'not-modified')
      return { tag: 'not-modified', headers: cachingHeaders(etag, this.#isPrivate) }
    if (selection.kind === 'precondition-failed') return { tag: 'precondition-failed' }
    return answerRange(object, selection, this.#commonHeaders(object), request.boundary)
  }

  #commonHeaders({ id }: LocatedObject): string[] {
    return [...cachingHeaders(entityTagOf(id), this.#isPrivate), ...guardHeaders(this.#isPrivate)]
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
  object: LocatedObject,
  outcome: RangeOutcome,
  common: readonly string[],
  boundary: string,
): ObjectAnswer {
  const { size, chunkSize } = object.facts
  switch (outcome.kind) {
    case 'unsatisfiable': {
      const detail = `The object has ${size} bytes; none of them is in the range.`
      return { tag: 'unsatisfiable', headers: ['Content-Range', contentRange(size)], detail }
    }
    case 'single': {
      const { range } = outcome
      const headers = [...typedHeaders(object, common), 'Content-Range', contentRange(size, range)]
      return { tag: 'bytes', status: 206, range: 'single', headers, ...bodyOf(range, chunkSize) }
    }
    case 'multiple': {
      const { type, isDownload } = servedType(object.facts.type)
      const multipartType = `multipart/byteranges; boundary=${boundary}`
      const headers = [...common, ...deliveryHeaders(isDownload), 'Content-Type', multipartType]
      const frame = byterangesFrame(outcome.ranges, size, type, boundary)
      const { length } = frame
      const parts = (): Iterable<BodyPart> => multipart(outcome.ranges, frame, chunkSize)
      return { tag: 'bytes', status: 206, range: 'multiple', headers, length, parts, onePiece: undefined }
    }
    case 'whole':
      return wholeAnswer(object, typedHeaders(object, common))
  }
}

function wholeAnswer({ facts }: LocatedObject, headers: readonly string[]): BytesAnswer {
  const body = bodyOf({ first: 0, last: facts.size - 1 }, facts.chunkSize)
  return { tag: 'bytes', status: 200, range: 'whole', headers, ...body }
}

function deliveryHeaders(isDownload: boolean): string[] {
  return ['Accept-Ranges', 'bytes', ...(isDownload ? ['Content-Disposition', 'attachment'] : [])]
}

function typedHeaders({ facts }: LocatedObject, common: readonly string[]): string[] {
  const { type, isDownload } = servedType(facts.type)
  return [...common, ...deliveryHeaders(isDownload), 'Content-Type', type]
}

function bodyOf(range: ByteRange, chunkSize: number): Pick<BytesAnswer, 'length' | 'parts' | 'onePiece'> {
  const chunk = Math.floor(range.first / chunkSize)
  const isOnePiece = range.last >= range.first && Math.floor(range.last / chunkSize) === chunk
  const start = chunk * chunkSize
  return {
    length: rangeLength(range),
    parts: () => windowParts(range, chunkSize),
    onePiece: isOnePiece ? [{ chunk, from: range.first - start, to: range.last + 1 - start }] : undefined,
  }
}

function* windowParts(range: ByteRange, chunkSize: number): Generator<BodyPart> {
  for (const window of windowsOf(range, chunkSize)) yield { tag: 'window', window }
}

function* multipart(
  ranges: readonly ByteRange[],
  { heads, tail }: ByterangesFrame,
  chunkSize: number,
): Generator<BodyPart> {
  for (const [at, range] of ranges.entries()) {
    yield { tag: 'text', bytes: heads[at] ?? tail }
    yield* windowParts(range, chunkSize)
  }
  yield { tag: 'text', bytes: tail }
}
