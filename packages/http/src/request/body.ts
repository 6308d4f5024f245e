/** Request bodies: bounded while they come, decoded, and understood. */
import type { Schema } from '@cairn/api'
import { CairnError } from '@cairn/kernel'
import type { RequestBytes } from '@cairn/transport'
import { safeParse } from 'zod/v4/core'

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
export function parseJsonBody(schema: Schema, contentType: string | undefined, bytes: Uint8Array): unknown {
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
