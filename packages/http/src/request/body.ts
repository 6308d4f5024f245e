/** Request bodies: bounded while they come, decoded, and understood. */
import type { Schema } from '@cairn/api'
import { CairnError, type Metrics } from '@cairn/kernel'
import { codingOf, decodedBytesMax, type Inflate, openCoded, refusalReason } from '@cairn/platform'
import type { RequestBytes } from '@cairn/transport'
import { DENY_REASONS } from '@cairn/wire'
import { safeParse } from 'zod/v4/core'
import type { Admission } from '../pipeline/admission.ts'
import type { IngressConfig } from '../pipeline/config.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import type { Route } from '../pipeline/route.ts'

/** How large the header says the body is; nothing when it is sent in chunks. */
export function declaredLength(contentLength: string | undefined): number | undefined {
  if (contentLength === undefined) return undefined
  if (!/^\d{1,15}$/.test(contentLength)) throw new CairnError('Malformed', 'Content-Length must be a whole number.')
  return Number(contentLength)
}

/** The code of a body larger than its route takes. */
export const BODY_CAP = 'body_cap'

export function tooLarge(bytesMax: number): CairnError {
  return new CairnError('TooLarge', `The body is larger than the ${bytesMax} bytes this route takes.`, {
    code: BODY_CAP,
  })
}

/** The whole body, at most `bytesMax` bytes of it ever in memory. */
export async function readWhole(body: RequestBytes | undefined, bytesMax: number): Promise<Uint8Array> {
  const pieces: Uint8Array[] = []
  let length = 0
  for await (const piece of body ?? []) {
    length += piece.length
    if (length > bytesMax) throw tooLarge(bytesMax)
    pieces.push(piece)
  }
  if (pieces.length === 1 && pieces[0] !== undefined) return pieces[0]
  const whole = new Uint8Array(length)
  let at = 0
  for (const piece of pieces) {
    whole.set(piece, at)
    at += piece.length
    body?.free?.(piece)
  }
  return whole
}

/** The body as it comes; ends with an error past the bound. A piece is good until the next is asked for. */
export async function* readBounded(
  body: RequestBytes | undefined,
  bytesMax: number,
  onOver: () => CairnError,
): AsyncGenerator<Uint8Array, void, undefined> {
  let length = 0
  for await (const piece of body ?? []) {
    length += piece.length
    if (length > bytesMax) throw onOver()
    yield piece
    body?.free?.(piece)
  }
}

const JSON_TYPE = /^application\/(?:[a-z0-9.-]+\+)?json[ \t]*(?:;|$)/i

/** JSON of the schema's form, or a refusal that names the first thing wrong with it. */
function parseJsonBody(schema: Schema, contentType: string | undefined, bytes: Uint8Array): unknown {
  if (!JSON_TYPE.test(contentType ?? ''))
    throw new CairnError('Malformed', 'The body must be JSON, with Content-Type: application/json.', {
      code: 'unsupported_type',
      status: 415,
    })
  let value: unknown
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (error) {
    throw new CairnError('Malformed', 'The body is not JSON in UTF-8.', { cause: error })
  }
  return checked(schema, value, 'The body')
}

/** The query as the schema wants it; a name that comes twice is refused, since readers differ on which one counts. */
export function parseQuery(schema: Schema, text: string): unknown {
  const fields: Record<string, string> = {}
  for (const [name, value] of new URLSearchParams(text)) {
    if (Object.hasOwn(fields, name)) throw new CairnError('Malformed', `The query names ${name} twice.`)
    Object.defineProperty(fields, name, { value, enumerable: true })
  }
  return checked(schema, fields, 'The query')
}

export function checked(schema: Schema, value: unknown, what: string): unknown {
  const result = safeParse(schema, value)
  if (result.success) return result.data
  const [issue] = result.error.issues
  const place = issue === undefined || issue.path.length === 0 ? '' : ` at ${issue.path.map(String).join('.')}`
  throw new CairnError('Malformed', `${what} is not of the required form${place}: ${issue?.message ?? 'unknown'}.`)
}

// The body of a request, taken the way its route asks for it.

/** What coded bodies are opened with, and what bounds the memory they take over all requests. */
export interface BodyDecoder {
  readonly inflate: Inflate
  readonly metrics: Metrics
  readonly admission: Admission
}

/**
 * Checks the declared size and coding now, and returns the rest of the reading where there is any: a request
 * without a body goes on at once.
 */
export function takeBody(
  exchange: Exchange,
  route: Route,
  config: IngressConfig,
  decoder: BodyDecoder,
): Promise<void> | undefined {
  const { headers, request } = exchange
  const isStreaming = exchange.slot !== 'inflight'
  const wholeMax = route.limits?.bodyBytes ?? config.max_body_bytes
  const bytesMax = isStreaming ? (route.limits?.streamBytes ?? wholeMax) : wholeMax
  const declared = declaredLength(headers.slot('content-length'))
  if (declared !== undefined && declared > bytesMax) throw tooLarge(bytesMax)
  if (isStreaming) {
    if (codingOf(headers.slot('content-encoding')) !== undefined)
      throw new CairnError('Malformed', 'A streamed body must come without Content-Encoding.', {
        code: 'unsupported_coding',
        status: 415,
      })
    const limit = Math.min(bytesMax, exchange.tokenBytesMax)
    exchange.stream =
      request.body === undefined
        ? NO_BYTES
        : readBounded(request.body, limit, () => (limit < bytesMax ? overCaveat() : tooLarge(bytesMax)))
    if (route.body === 'bytes') exchange.body = new Uint8Array()
    return undefined
  }
  if (route.body === undefined) return undefined
  if (request.body !== undefined) return readInto(exchange, route.body, bytesMax, config, decoder)
  exchange.body = route.body === 'bytes' ? new Uint8Array() : checked(route.body, undefined, 'The body')
  return undefined
}

async function readInto(
  exchange: Exchange,
  form: NonNullable<Route['body']>,
  bytesMax: number,
  config: IngressConfig,
  { inflate, metrics, admission }: BodyDecoder,
): Promise<void> {
  const { headers, request } = exchange
  const coding = codingOf(headers.slot('content-encoding'))
  let bytes = await readWhole(request.body, bytesMax)
  if (coding !== undefined) {
    const limits = { ratioMax: config.decompress_max_ratio, bytesMax: config.decompress_max_bytes }
    // Held until the request is over. What is waited for is the worst case: a body tells its length only when decoded.
    const reserved = decodedBytesMax(bytes.length, limits)
    admission.takeDecoded(reserved)
    exchange.decodedBytes = reserved
    exchange.deadline.throwIfExpired('the request')
    try {
      bytes = await openCoded(inflate, coding, bytes, limits)
    } catch (error) {
      metrics.count('decompress_reject_total', { reason: refusalReason(error) })
      throw error
    }
    admission.releaseDecoded(reserved - bytes.length)
    exchange.decodedBytes = bytes.length
  }
  if (bytes.length > exchange.tokenBytesMax) throw overCaveat()
  exchange.body = form === 'bytes' ? bytes : parseJsonBody(form, headers.slot('content-type'), bytes)
}

/** The body of a request that has none. */
const NO_BYTES: AsyncIterable<Uint8Array> = {
  [Symbol.asyncIterator]: () => ({ next: async () => await Promise.resolve({ done: true, value: undefined }) }),
}

function overCaveat(): CairnError {
  return new CairnError('Forbidden', DENY_REASONS.caveat_bytes.when, { code: 'caveat_bytes' })
}
