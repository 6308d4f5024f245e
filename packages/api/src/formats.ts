/** Forms of texts that several contracts take; each carries its pattern into the OpenAPI document. */
import { type Address, parseAddress } from '@cairn/wire'
import { z } from 'zod'

/** What an index can be asked for beside an address: wider than what a registry takes. */
export const LOOKUP_NAME = /^[a-z0-9][a-z0-9._@-]{0,252}$/

/** A text of which the document shows the form; `read` is the judge, and says what is wrong with another. */
export function textOf<T>(pattern: RegExp, read: (text: string) => T, length: { readonly maxLength?: number } = {}) {
  return z
    .string()
    .meta({ pattern: pattern.source, ...length })
    .transform(read)
}

/** `b3:` and 64 hex digits. */
export const address = textOf(/^b3:[0-9a-f]{64}$/, (text): Address => parseAddress(text))

/** How many of a page: 1 to `most`. */
export function pageLimit(most: number, otherwise: number = most) {
  return z.coerce.number().int().min(1).max(most).default(otherwise)
}
