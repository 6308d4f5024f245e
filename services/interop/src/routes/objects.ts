/** `GET /o/:address`: what storage has, by storage's own rules of conditions and ranges. */

import { address } from '@cairn/api'
import { problem, type RequestContext, type RouteTable, route } from '@cairn/http'
import { CairnError } from '@cairn/kernel'
import type { IngressResponse } from '@cairn/transport'
import type { Address } from '@cairn/wire'
import { z } from 'zod'
import { needsStorage } from '../errors.ts'
import type { InteropParts } from '../parts.ts'

// What several routes take, in one place.

const addressParams = z.strictObject({ address })

/** What a consumer may take from. */
const OPEN_TOPIC = /^[a-z0-9][a-z0-9._-]{0,63}$/
/** Those, and the ones whose messages this service applies itself. */
const ANY_TOPIC = /^@?[a-z0-9][a-z0-9._-]{0,63}$/

const TOPIC_FORM = 'must have 1 to 64 of a-z 0-9 . _ - and begin with a letter or digit'

export const openTopicParams = z.strictObject({ topic: z.string().regex(OPEN_TOPIC, TOPIC_FORM) })
export const anyTopicParams = z.strictObject({ topic: z.string().regex(ANY_TOPIC, TOPIC_FORM) })
export const messageParams = z.strictObject({
  topic: z.string().regex(OPEN_TOPIC, TOPIC_FORM),
  id: z.string().min(1).max(128),
})

type ObjectContext = RequestContext<{ readonly address: Address }, unknown, unknown>

/** What a client may ask of a read. */
const ASKED = ['if-match', 'if-none-match', 'if-modified-since', 'if-unmodified-since', 'if-range', 'range'] as const
/** What the answer says about the bytes. */
const TOLD = [
  ['content-type', 'Content-Type'],
  ['content-length', 'Content-Length'],
  ['content-range', 'Content-Range'],
  ['accept-ranges', 'Accept-Ranges'],
  ['etag', 'ETag'],
  ['cache-control', 'Cache-Control'],
  ['vary', 'Vary'],
  ['x-content-type-options', 'X-Content-Type-Options'],
  ['content-security-policy', 'Content-Security-Policy'],
  ['cross-origin-resource-policy', 'Cross-Origin-Resource-Policy'],
  ['content-disposition', 'Content-Disposition'],
] as const

export function objectRoutes(parts: InteropParts): RouteTable {
  return [
    route({
      method: 'GET',
      path: '/o/:address',
      lane: 'inline',
      summary:
        'The object, whole or in ranges, read through from storage, which proves every byte. A brownout leaves it alone.',
      params: addressParams,
      limits: { stream: true },
      responses: {
        200: { description: 'All of it.', mediaType: 'application/octet-stream' },
        206: { description: 'The ranges asked for.', mediaType: 'application/octet-stream' },
        304: { description: 'The client has it.' },
      },
      errors: {
        MALFORMED: 400,
        not_found: 404,
        precondition_failed: 412,
        range_not_satisfiable: 416,
        integrity: 502,
        DOWNSTREAM_UNAVAILABLE: 503,
      },
      handler: async (context) => await parts.pressure.watched(async () => await read(parts, context)),
    }),
  ]
}

async function read({ storage, pressure }: InteropParts, context: ObjectContext): Promise<IngressResponse> {
  if (storage === undefined) throw needsStorage()
  const { params, headers: fields, deadline, corrId, signal, method } = context
  const asked = Object.fromEntries(
    ASKED.flatMap((name) => {
      const value = fields.slot(name)
      return value === undefined ? [] : [[name, value]]
    }),
  )
  const call = { deadline, corrId, signal }
  const { status, headers, body } = await pressure.call('storage', 'get', call, async (each) => {
    return await storage.open(params.address, asked, each)
  })
  const told = TOLD.flatMap(([name, shown]) => (headers[name] === undefined ? [] : [shown, headers[name]]))
  if (status < 300 && method !== 'HEAD') return { status, headers: told, body }
  body.cancel()
  if (status < 400) return { status, headers: told }
  if (status === 416) return problem(unsatisfiable(), corrId, { headers: sizeIn(headers) })
  throw refused(status, params.address)
}

function unsatisfiable(): CairnError {
  const detail = 'The object does not have the bytes that were asked for.'
  return new CairnError('Malformed', detail, { code: 'range_not_satisfiable', status: 416 })
}

/** How much there is: without it a client cannot ask better. */
function sizeIn({ 'content-range': size }: Readonly<Record<string, string | undefined>>): readonly string[] {
  return size === undefined ? [] : ['Content-Range', size]
}

function refused(status: number, address: Address): CairnError {
  if (status === 404) return new CairnError('NotFound', `There is no object ${address} here.`)
  return new CairnError('Conflict', 'The object is not the one the condition names.', {
    code: 'precondition_failed',
    status,
  })
}
