/** Objects by address. */
import { type RouteTable, route } from '@cairn/platform'
import { type Address, parseAddress } from '@cairn/wire'
import { z } from 'zod'
import { INERT } from '../answers/guard-headers.ts'
import { FILL_ERRORS, READ_ERRORS } from '../errors.ts'
import type { EdgeParts } from '../parts.ts'

/** 64 hex digits, with or without `b3:` before them. */
export const hexAddress = z
  .string()
  .transform((text): Address => parseAddress(text.startsWith('b3:') ? text : `b3:${text}`))

/** An address never means other bytes. */
const IMMUTABLE: readonly string[] = ['Cache-Control', 'public, max-age=31536000, immutable', 'Vary', 'Accept-Encoding']
const DRESS = { route: 'b3', status: 200, type: undefined, headers: [...IMMUTABLE, ...INERT] } as const

export const FILE_RESPONSES = {
  200: { description: 'All of it.', mediaType: 'application/octet-stream' },
  206: { description: 'The range asked for.', mediaType: 'application/octet-stream' },
  304: { description: 'The client has it.' },
} as const

export function objectRoutes({ objects }: EdgeParts): RouteTable {
  return [
    route({
      method: 'GET',
      path: '/edge/assets/b3/:hex',
      lane: 'inline',
      summary: 'An object, from this node or whoever has it; every byte is proved before it leaves.',
      params: z.strictObject({ hex: hexAddress }),
      responses: FILE_RESPONSES,
      errors: { ...READ_ERRORS, ...FILL_ERRORS, integrity: 502 },
      handler: (context) => objects.answer(context, context.params.hex, DRESS),
    }),
  ]
}
