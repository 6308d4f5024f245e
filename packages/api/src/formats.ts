/** Forms of texts that several contracts take; each carries its pattern into the OpenAPI document. */
import { type Address, parseAddress } from '@cairn/wire'
import { z } from 'zod'

/** `b3:` and 64 hex digits; the error says what is wrong with another. */
export const address = z
  .string()
  .meta({ pattern: '^b3:[0-9a-f]{64}$' })
  .transform((text): Address => parseAddress(text))

/** How many of a page: 1 to `most`. */
export function pageLimit(most: number, otherwise: number = most) {
  return z.coerce.number().int().min(1).max(most).default(otherwise)
}
