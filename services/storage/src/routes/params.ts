/** What several routes take, in one place. */
import { type Address, parseAddress } from '@cairn/wire'
import { z } from 'zod'

export const address = z.string().transform((text): Address => parseAddress(text))

export const addressParams = z.strictObject({ address })

const upload = z.string().regex(/^[\w-]{1,64}$/, 'must be 1 to 64 letters, digits, _ or -')

/**
 * Chunks are kept for the upload that is named; for the request's own correlation id if none is. Who knows the object
 * they are for says so, and they land where it will be.
 */
export const uploadQuery = z.strictObject({ upload: upload.optional(), object: address.optional() })
