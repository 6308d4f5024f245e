/** Reads the body of an answer up to a bound, and its fields, each of which must have its form, else `bad_answer`. */
import { CairnError } from '@cairn/kernel'
import type { IncomingResponse } from '@cairn/transport'
import { type Address, parseAddress } from '@cairn/wire'

export type JsonFields = Readonly<Record<string, unknown>>

export function objectOf(value: unknown): JsonFields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as JsonFields
  throw badAnswer('is not a JSON object where one must be')
}

export function text(fields: JsonFields, name: string): string {
  const value = fields[name]
  if (typeof value === 'string') return value
  throw badAnswer(`has no text ${name}`)
}

export function amount(fields: JsonFields, name: string): number {
  const value = fields[name]
  if (typeof value === 'number' && value >= 0) return value
  throw badAnswer(`has no amount ${name}`)
}

export function choice<const T extends string>(fields: JsonFields, name: string, choices: readonly T[]): T {
  const found = choices.find((value) => value === fields[name])
  if (found !== undefined) return found
  throw badAnswer(`has another ${name} than ${choices.join(', ')}`)
}

function list(fields: JsonFields, name: string): readonly unknown[] {
  const value = fields[name]
  if (Array.isArray(value)) return value as readonly unknown[]
  throw badAnswer(`has no list ${name}`)
}

export function texts(fields: JsonFields, name: string): readonly string[] {
  return list(fields, name).map((value) => {
    if (typeof value === 'string') return value
    throw badAnswer(`has something else than texts in ${name}`)
  })
}

export function rows(fields: JsonFields, name: string): readonly JsonFields[] {
  return list(fields, name).map(objectOf)
}

export function address(fields: JsonFields, name: string): Address {
  try {
    return parseAddress(text(fields, name))
  } catch (cause) {
    throw badAnswer(`has no address ${name}`, cause)
  }
}

/** Reads a whole body; refuses a longer one. */
export function bytesUpTo(bytesMax: number): (response: IncomingResponse) => Promise<Uint8Array> {
  return async ({ body }) => {
    const pieces: Uint8Array[] = []
    let length = 0
    for await (const piece of body) {
      length += piece.length
      if (length > bytesMax) throw new CairnError('TooLarge', `The answer has more than ${bytesMax} bytes.`)
      pieces.push(piece)
    }
    const bytes = new Uint8Array(length)
    let at = 0
    for (const piece of pieces) {
      bytes.set(piece, at)
      at += piece.length
    }
    return bytes
  }
}

/** Reads a whole body as text; refuses a longer one. */
export async function readText({ body }: IncomingResponse, bytesMax: number): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  let length = 0
  for await (const chunk of body) {
    length += chunk.length
    // Leaving the loop cancels the rest.
    if (length > bytesMax) throw badAnswer(`has more than ${bytesMax} bytes`)
    text += decoder.decode(chunk, { stream: true })
  }
  return text + decoder.decode()
}

/** Reads the JSON object in a body. */
export async function readObject(response: IncomingResponse, bytesMax: number): Promise<Record<string, unknown>> {
  const text = await readText(response, bytesMax)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw badAnswer('is not JSON', cause)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw badAnswer('is not a JSON object')
  return value as Record<string, unknown>
}

/** Cancels the body of an answer that only confirms. */
export async function readNothing({ body }: IncomingResponse): Promise<void> {
  body.cancel()
  await Promise.resolve()
}

/** The error for an answer that breaks the contract. */
export function badAnswer(why: string, cause?: unknown): CairnError {
  return new CairnError('Internal', `The answer ${why}.`, { code: 'bad_answer', status: 502, cause })
}
