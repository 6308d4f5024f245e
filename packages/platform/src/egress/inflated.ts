import { CairnError, isKind } from '@cairn/kernel'
import { type Coding, codingOf, type InflateLimits, openCoded, threadInflate } from '../http/inflate.ts'
import type { IncomingBody, IncomingResponse } from './transport.ts'

/** A short page of a listed upstream may pack better than any document: below this much output a ratio says nothing. */
const RATIO_FREE_BYTES = 64 * 1024

/** The response with its body decoded, within the limits; what is wrong with it is the sender's fault (`Integrity`). */
export function inflated(response: IncomingResponse, limits: InflateLimits): IncomingResponse {
  const { 'content-encoding': encoding, 'content-length': _length, ...headers } = response.headers
  try {
    const coding = codingOf(encoding)
    if (coding === undefined) return response
    return { status: response.status, headers, body: decoded(response.body, coding, limits) }
  } catch (error) {
    response.body.cancel()
    throw badCoding(error)
  }
}

function decoded(body: IncomingBody, coding: Coding, limits: InflateLimits): IncomingBody {
  return {
    async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
      const bytes = await collected(body, limits.bytesMax)
      if (bytes.length === 0) return
      try {
        yield await openCoded(threadInflate, coding, bytes, { freeBytes: RATIO_FREE_BYTES, ...limits })
      } catch (error) {
        throw badCoding(error)
      }
    },
    cancel: () => body.cancel(),
  }
}

async function collected(body: IncomingBody, bytesMax: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of body) {
    length += chunk.length
    if (length > bytesMax) {
      throw new CairnError('TooLarge', `The answer has more than ${bytesMax} bytes.`, { code: 'decompress_cap' })
    }
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function badCoding(error: unknown): unknown {
  if (!isKind(error, 'Malformed')) return error
  return new CairnError('Integrity', 'The answer is not in the coding it claims to be in.', {
    code: 'bad_answer',
    cause: error,
  })
}
