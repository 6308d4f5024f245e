/** What an operator changes: pins, local names, and what is looked up again. Each change is audited. */

import { address, textOf } from '@cairn/api'
import { empty, json, type RouteTable, route } from '@cairn/http'
import { CairnError } from '@cairn/kernel'
import { NAME_FORM, NAME_LENGTH_MAX, parseName } from '@cairn/names'
import { createUlid } from '@cairn/wire'
import { z } from 'zod'
import { noSuchName, registrySpeaks } from '../errors.ts'
import type { IndexParts } from '../parts.ts'
import { PRIORITIES, questionOf } from '../tasks/prefetcher.ts'
import { KEY_FORM } from './params.ts'

const KEYS_MAX = 1000

const nameParams = z.strictObject({ name: textOf(NAME_FORM, parseName, { maxLength: NAME_LENGTH_MAX }) })
const done = z.strictObject({ ok: z.literal(true) })

export function adminRoutes(parts: IndexParts): RouteTable {
  return [
    pinning(parts, 'pin'),
    pinning(parts, 'unpin'),
    reindex(parts),
    putName(parts),
    removeName(parts),
    peers(parts),
  ]
}

function pinning(parts: IndexParts, action: 'pin' | 'unpin'): RouteTable[number] {
  const { overrides, events, audit, idempotency, announcer, runtime } = parts
  return route({
    method: 'POST',
    path: `/admin/${action}`,
    lane: 'inline',
    scope: 'index:pin',
    summary:
      action === 'pin'
        ? 'Keeps what is known about an address: never pushed out, renewed before it expires, announced again.'
        : 'Ends a pin.',
    body: z.strictObject({ cid: address }),
    responses: { 200: { description: 'Durable.', schema: done } },
    errors: { limit_reached: 409, no_space: 507 },
    handler: async (context) =>
      await idempotency.once(context, async () => {
        const { cid } = context.body
        const isChanged = action === 'pin' ? await overrides.pin(cid) : await overrides.unpin(cid)
        runtime.metrics.set('index_pins', overrides.pins.size)
        audit.note(context, action, cid, isChanged)
        if (isChanged) {
          events.publish({ topic: 'index.pin.changed', body: { cid, action, corr_id: context.corrId } })
          announcer.look()
        }
        return { status: 200, body: { ok: true } }
      }),
  })
}

function reindex({ reindex: queue, runtime, events, audit, idempotency }: IndexParts): RouteTable[number] {
  return route({
    method: 'POST',
    path: '/admin/reindex',
    lane: 'inline',
    scope: 'index:admin',
    summary: 'Looks keys up again, past what is kept, when there is time for it: `high` first, `low` last.',
    body: z.strictObject({
      keys: z.array(textOf(KEY_FORM, questionOf)).min(1).max(KEYS_MAX),
      priority: z.enum(PRIORITIES).default('normal'),
    }),
    responses: { 202: { description: 'Accepted.', schema: z.strictObject({ task_id: z.string() }) } },
    handler: async (context) =>
      await idempotency.once(context, async () => {
        const { keys, priority } = context.body
        if (queue.capacity - queue.depth < keys.length)
          throw new CairnError('Busy', 'Too many keys wait to be looked up again; try later.', { retryAfterMs: 5000 })
        for (const question of keys) queue.trySend({ question, priority })
        const taskId = createUlid(Math.floor(runtime.clock.wall()), runtime.random.bytes(10))
        const body = { task_id: taskId, kind: 'reindex', keys: keys.length, corr_id: context.corrId } as const
        events.publish({ topic: 'index.admin.accepted', body })
        audit.note(context, 'reindex', `${keys.length} keys`, true)
        return await Promise.resolve({ status: 202, body: { task_id: taskId } })
      }),
  })
}

function putName({ overrides, names, audit }: IndexParts): RouteTable[number] {
  return route({
    method: 'PUT',
    path: '/admin/names/:name',
    lane: 'inline',
    scope: 'index:admin',
    summary: 'Gives a name a meaning on this node alone; only where no registry speaks.',
    params: nameParams,
    body: z.strictObject({ manifest_cid: address }),
    responses: { 200: { description: 'Durable.', schema: done } },
    errors: { registry_configured: 409, limit_reached: 409, no_space: 507 },
    handler: async (context) => {
      if (names !== undefined) throw registrySpeaks()
      const isChanged = await overrides.putName(context.params.name, context.body.manifest_cid)
      audit.note(context, 'put_name', `local:${context.params.name}`, isChanged)
      return json(200, { ok: true })
    },
  })
}

function removeName({ overrides, names, audit }: IndexParts): RouteTable[number] {
  return route({
    method: 'DELETE',
    path: '/admin/names/:name',
    lane: 'inline',
    scope: 'index:admin',
    summary: 'Takes the meaning of a local name away.',
    params: nameParams,
    responses: { 204: { description: 'Gone.' } },
    errors: { registry_configured: 409, not_found: 404, no_space: 507 },
    handler: async (context) => {
      if (names !== undefined) throw registrySpeaks()
      const { name } = context.params
      if (!(await overrides.removeName(name))) throw noSuchName(name)
      audit.note(context, 'remove_name', `local:${name}`, true)
      return empty(204)
    },
  })
}

function peers({ routings }: IndexParts): RouteTable[number] {
  const peer = z.strictObject({ id: z.string(), addresses: z.array(z.string()), connected: z.boolean() })
  return route({
    method: 'GET',
    path: '/peers',
    lane: 'inline',
    scope: 'index:read',
    summary: 'Whom this node knows in the network, and whether it is connected to them.',
    responses: { 200: { description: 'The peers.', schema: z.strictObject({ peers: z.array(peer) }) } },
    handler: () => json(200, { peers: routings.flatMap((routing) => routing.peers()) }),
  })
}
