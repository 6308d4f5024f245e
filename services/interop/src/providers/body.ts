/** Reading a verified body: what it says is believed, but it need not be of any form. */

export type Fields = Readonly<Record<string, unknown>>

/** The object a JSON text spells, else nothing. */
export function jsonObject(body: Uint8Array | string): Fields | undefined {
  try {
    const text = typeof body === 'string' ? body : new TextDecoder('utf-8', { fatal: true }).decode(body)
    return objectOf(JSON.parse(text))
  } catch {
    return undefined
  }
}

/** The value, if it is an object with fields. */
export function objectOf(value: unknown): Fields | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined
}

/** The fields of a form, the first of each name. */
export function formFields(body: Uint8Array): URLSearchParams {
  return new URLSearchParams(Buffer.from(body).toString('latin1'))
}
