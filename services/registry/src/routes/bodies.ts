/** Bodies of writes: strict JSON, or strict CBOR that spells the same, of a length that was said. */
import { CairnError } from '@cairn/kernel'
import { decodeBody } from '@cairn/names'
import type { RequestContext } from '@cairn/platform'
import type { JsonValue } from '@cairn/wire'
import { lengthRequired } from '../errors.ts'

const FORMATS: ReadonlyMap<string, 'json' | 'cbor'> = new Map([
  ['application/json', 'json'],
  ['application/cbor', 'cbor'],
])

export function bodyOf({ headers, body }: RequestContext<unknown, unknown, Uint8Array>): JsonValue {
  if (headers.get('content-length') === undefined) throw lengthRequired()
  const type = headers.get('content-type')?.split(';')[0]?.trim().toLowerCase() ?? ''
  const format = FORMATS.get(type)
  if (format === undefined) {
    const detail = 'The body must be JSON or CBOR, with Content-Type: application/json or application/cbor.'
    throw new CairnError('Malformed', detail, { code: 'unsupported_type', status: 415 })
  }
  return decodeBody(body, format)
}
