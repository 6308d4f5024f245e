/** What an operator asks: what is here, how safe it is, and to look again. */
import { json, type RouteTable, route } from '@cairn/platform'
import { type Address, parseAddress } from '@cairn/wire'
import { z } from 'zod'
import type { StorageParts } from '../parts.ts'

const PAGE_MAX = 1000

export function adminRoutes({ storage, scrubber }: StorageParts): RouteTable {
  const admin = { lane: 'inline', scope: 'storage:admin' } as const
  return [
    route({
      ...admin,
      method: 'GET',
      path: '/admin/objects',
      summary: 'Objects in order of address, page by page.',
      query: z.strictObject({
        cursor: z
          .string()
          .transform((text): Address => parseAddress(text))
          .optional(),
        limit: z.coerce.number().int().min(1).max(PAGE_MAX).default(100),
      }),
      responses: {
        200: {
          description: 'A page, and the cursor of the next.',
          schema: z.looseObject({ objects: z.array(z.looseObject({})) }),
        },
      },
      handler: async ({ query }) => {
        const ids = await storage.objects.list(query.cursor, query.limit)
        const objects = []
        for (const id of ids) {
          const facts = await storage.objects.stat(id)
          if (facts !== undefined) objects.push({ address: id, size: facts.size, type: facts.type })
        }
        return json(200, { objects, cursor: ids.length < query.limit ? null : (ids.at(-1) ?? null) })
      },
    }),
    route({
      ...admin,
      method: 'GET',
      path: '/admin/durability',
      summary: 'Copies wanted and copies proved; what the scrub has read, and when.',
      responses: { 200: { description: 'The report.', schema: z.looseObject({ target_copies: z.int() }) } },
      handler: () => {
        const { unready, isStalled, isCatchingUp, damagedSegments } = storage.facts()
        const drive = { writable: unready === undefined, why: unready?.message ?? '', stalled: isStalled }
        return json(200, {
          target_copies: 1,
          targets: 1,
          drive,
          catching_up: isCatchingUp,
          damaged_segments: damagedSegments,
          scrub: scrubber.report(),
        })
      },
    }),
    route({
      ...admin,
      method: 'POST',
      path: '/admin/scrub',
      summary: 'Begins a round of the scrub now, if none is under way.',
      responses: { 202: { description: 'Under way.', schema: z.looseObject({}) } },
      handler: () => {
        scrubber.begin()
        return json(202, scrubber.report())
      },
    }),
    route({
      ...admin,
      method: 'POST',
      path: '/admin/repair',
      summary: 'Plans repairs now. With one target there is nothing to repair from, and the answer says so.',
      responses: { 202: { description: 'Planned.', schema: z.looseObject({ planned: z.int() }) } },
      handler: () => json(202, { planned: 0, why: 'one target: there is no other copy to repair from' }),
    }),
  ]
}
