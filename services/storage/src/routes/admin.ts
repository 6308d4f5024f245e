/** What an operator asks: what is here, how safe it is, and to look again. */
import { json, type RouteTable, route } from '@cairn/platform'
import { z } from 'zod'
import { durabilityReport } from '../domain/durability-report.ts'
import { noSuchObject, READ_ERRORS } from '../errors.ts'
import type { StorageParts } from '../parts.ts'
import { address } from './params.ts'

const PAGE_MAX = 1000
const PAGE_DEFAULT = 100

const admin = { lane: 'inline', scope: 'storage:admin' } as const

export function adminRoutes(parts: StorageParts): RouteTable {
  return [listObjects(parts), durability(parts), scrub(parts), repair(parts)]
}

function listObjects({ objects: all, reader }: StorageParts): RouteTable[number] {
  const row = z.strictObject({ address: z.string(), size: z.int(), type: z.string() })
  return route({
    ...admin,
    method: 'GET',
    path: '/admin/objects',
    summary: 'Objects this node holds, in order of address, page by page: `cursor` is that of the page before.',
    query: z.strictObject({
      cursor: address.optional(),
      limit: z.coerce.number().int().min(1).max(PAGE_MAX).default(PAGE_DEFAULT),
    }),
    responses: {
      200: {
        description: 'A page, and the cursor of the next; null after the last.',
        schema: z.strictObject({ objects: z.array(row), cursor: z.string().nullable() }),
      },
    },
    errors: READ_ERRORS,
    handler: async ({ query }) => {
      const ids = await all.list(query.cursor, query.limit)
      const objects: z.output<typeof row>[] = []
      for (const id of ids) {
        const object = await reader.find(id)
        if (object !== undefined) objects.push({ address: id, size: object.facts.size, type: object.facts.type })
      }
      return json(200, { objects, cursor: ids.length < query.limit ? null : (ids.at(-1) ?? null) })
    },
  })
}

function durability(parts: StorageParts): RouteTable[number] {
  return route({
    ...admin,
    method: 'GET',
    path: '/admin/durability',
    summary: 'Copies wanted, and copies read and proved; objects by state; what the scrub has read, and when.',
    responses: { 200: { description: 'The report.', schema: z.looseObject({ target_copies: z.int() }) } },
    handler: () => json(200, durabilityReport(parts)),
  })
}

function scrub({ scrubs }: StorageParts): RouteTable[number] {
  return route({
    ...admin,
    method: 'POST',
    path: '/admin/scrub',
    summary: 'Begins a round of the scrub now, if none is under way.',
    responses: { 202: { description: 'Under way.', schema: z.looseObject({}) } },
    handler: () => {
      scrubs.begin()
      return json(202, scrubs.report())
    },
  })
}

function repair({ repairs, reader }: StorageParts): RouteTable[number] {
  return route({
    ...admin,
    method: 'POST',
    path: '/admin/repair',
    summary: 'Plans repairs now: of one object, or, without a body, of whatever the planner finds.',
    body: z.strictObject({ address: address.optional() }).optional(),
    responses: { 202: { description: 'The planner is at work.', schema: z.looseObject({ queued: z.boolean() }) } },
    errors: { not_found: 404, ...READ_ERRORS },
    handler: async ({ body }) => {
      const id = body?.address
      if (id === undefined) repairs.wakePlanner()
      else if ((await reader.find(id)) === undefined) throw noSuchObject(id)
      else repairs.request(id)
      return json(202, { queued: true })
    },
  })
}
