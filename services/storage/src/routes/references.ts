/** `/refs`: who keeps an object from being deleted. */
import { empty, type RouteTable, route } from '@cairn/platform'
import { z } from 'zod'
import { WRITE_ERRORS } from '../errors.ts'
import type { StorageParts } from '../parts.ts'
import { address } from './params.ts'

const holdParams = z.strictObject({ owner: z.string(), address })

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
      errors: { not_found: 404, ...WRITE_ERRORS },
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
      errors: WRITE_ERRORS,
      handler: async (context) => {
        const { owner, address: id } = context.params
        await work.write(async () => await storage.objects.release(owner, id), context)
        return empty(204)
      },
    }),
  ]
}
