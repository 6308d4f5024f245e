/** `/refs`: who keeps an object from being deleted. */
import { empty, type RouteTable, route } from '@cairn/platform'
import { z } from 'zod'
import type { StorageParts } from '../parts.ts'
import { address } from './params.ts'

const holdParams = z.strictObject({ owner: z.string(), address })
const writeErrors = { write_failed: 503, not_ready: 503, index_failed: 503, no_space: 507 }

export function referenceRoutes({ storage, work }: StorageParts): RouteTable {
  return [
    route({
      method: 'PUT',
      path: '/refs/:owner/:address',
      lane: 'inline',
      scope: 'storage:hold',
      summary: 'Keeps the object from being deleted for as long as the owner holds it. Durable, and idempotent.',
      params: holdParams,
      responses: { 204: { description: 'Held.' } },
      errors: { not_found: 404, ...writeErrors },
      handler: async (context) => {
        const { owner, address: id } = context.params
        await work.write(async () => await storage.objects.hold(owner, id), context)
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
      responses: { 204: { description: 'Not held by this owner any more.' } },
      errors: writeErrors,
      handler: async (context) => {
        const { owner, address: id } = context.params
        await work.write(async () => await storage.objects.release(owner, id), context)
        return empty(204)
      },
    }),
  ]
}
