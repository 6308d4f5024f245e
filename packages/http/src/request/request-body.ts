/** The body of a request, taken the way its route asks for it. */
import { CairnError, type Metrics } from '@cairn/kernel'
import { codingOf, decodedBytesMax, type Inflate, openCoded, refusalReason } from '@cairn/platform'
import { DENY_REASONS } from '@cairn/wire'
import type { Admission } from '../pipeline/admission.ts'
import type { IngressConfig } from '../pipeline/config.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import type { Route } from '../pipeline/route.ts'
import { checked, declaredLength, parseJsonBody, readBounded, readWhole, tooLarge } from './body.ts'

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
