/** `/refs`: who keeps an object from being deleted. */
import { empty, type RouteTable, route } from '@cairn/platform'
import { z } from 'zod'
import { WRITE_ERRORS } from '../errors.ts'
import type { StorageParts } from '../parts.ts'
import { copyScope } from './copies.ts'
import { address } from './params.ts'

const holdParams = z.strictObject({ owner: z.string(), address })
/** With `copy` another node asks, about the copy on this one. */
const holdQuery = z.strictObject({ copy: z.string().optional() })

export function referenceRoutes({ objects, own, work }: StorageParts): RouteTable {
  return [
    route({
      method: 'PUT',
      path: '/refs/:owner/:address',
      lane: 'inline',
      scope: 'storage:hold',
      summary: 'Keeps the object from being deleted for as long as the owner holds it. Durable, and idempotent.',
      params: holdParams,
      query: holdQuery,
      furtherScope: copyScope,
      responses: { 204: { description: 'Held.' } },
      errors: { not_found: 404, ...WRITE_ERRORS },
      handler: async (context) => {
        const { owner, address: id } = context.params
        const at = context.query.copy === undefined ? objects : own
        await work.write(async () => await at.hold(owner, id), context)
        return empty(204)
      },
    }),
    route({
      method: 'DELETE',
      path: '/refs/:owner/:address',
      lane: 'inline',
      scope: 'storage:hold',
      summary: 'Lets go of the object. Idempotent.',
      params: holdParams,
      query: holdQuery,
      furtherScope: copyScope,
      responses: { 204: { description: 'Not held by this owner any more.' } },
      errors: WRITE_ERRORS,
      handler: async (context) => {
        const { owner, address: id } = context.params
        const at = context.query.copy === undefined ? objects : own
        await work.write<unknown>(async () => await at.release(owner, id), context)
        return empty(204)
      },
    }),
  ]
}
