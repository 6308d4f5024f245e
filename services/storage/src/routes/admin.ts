/** What an operator asks: what is here, how safe it is, and to look again. */

import { json, type RouteTable, route } from '@cairn/http'
import { CairnError } from '@cairn/kernel'
import { z } from 'zod'
import { noSuchObject, READ_ERRORS, WRITE_ERRORS } from '../errors.ts'
import type { StorageParts } from '../parts.ts'
import { durabilityReport } from '../repair/durability-report.ts'
import { address } from './route-context.ts'

const PAGE_MAX = 1000
const PAGE_DEFAULT = 100

const admin = { lane: 'inline', scope: 'storage:admin' } as const

export function adminRoutes(parts: StorageParts): RouteTable {
  return [listObjects(parts), durability(parts), scrub(parts), giveUp(parts), repair(parts)]
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

/** What would be lost, or was. */
const loss = z.strictObject({
  segment: z.int(),
  drive: z.string(),
  /** Nothing of it can be read, so that it is not known what it held. */
  unreadable: z.boolean(),
  damaged_bytes: z.int(),
  salvaged: z.int(),
  lost: z.strictObject({ chunks: z.int(), objects: z.int(), holds: z.int(), deletes: z.int() }),
  kept_as: z.string().nullable(),
})

function giveUp({ drives }: StorageParts): RouteTable[number] {
  return route({
    ...admin,
    method: 'POST',
    path: '/admin/scrub/give-up',
    summary:
      'Gives up a segment that is damaged or unreadable: what can be read of it is copied, the rest is lost, and garbage can be collected again. With `dry_run` it only says what would be lost.',
    body: z.strictObject({
      segment: z.int().min(1),
      drive: z.string().optional(),
      dry_run: z.boolean().default(false),
    }),
    responses: { 200: { description: 'What is lost.', schema: loss } },
    errors: { not_found: 404, segment_sound: 409, segment_active: 409, ...READ_ERRORS, ...WRITE_ERRORS },
    handler: async ({ body }) => {
      const drive = drives.open.find(({ id }) => body.drive === undefined || id === body.drive)
      if (drive === undefined) throw new CairnError('NotFound', 'There is no such drive, or it has failed.')
      const { storage } = drive.contents
      const report = body.dry_run ? storage.wouldLose(body.segment) : await storage.giveUp(body.segment)
      const { segment, isUnreadable, damagedBytes, salvaged, lost, keptAs } = report
      return json(200, {
        segment,
        drive: drive.id,
        unreadable: isUnreadable,
        damaged_bytes: damagedBytes,
        salvaged,
        lost,
        kept_as: keptAs ?? null,
      })
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
