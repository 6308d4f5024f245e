/** `POST /admin/adopt`: the operator gives up what the journal lost. */
import { json, type RouteTable, route } from '@cairn/platform'
import { z } from 'zod'
import type { InteropParts } from '../parts.ts'

export function adminRoutes({ ledger, runtime }: InteropParts): RouteTable {
  return [
    route({
      method: 'POST',
      path: '/admin/adopt',
      lane: 'inline',
      scope: 'interop:admin',
      summary:
        'Gives up what is missing in the journal, with a line of the audit that says so; from then on webhooks and puts are taken again.',
      responses: {
        200: {
          description: 'What was lost, and the line that says so.',
          schema: z.strictObject({ lost: z.string(), line: z.int() }),
        },
      },
      errors: { nothing_lost: 409, DOWNSTREAM_UNAVAILABLE: 503 },
      handler: async ({ corrId }) => {
        const adoption = await ledger.adopt(corrId)
        runtime.log.warn({ lost: adoption.lost, line: adoption.line }, 'what the journal lost was given up')
        return json(200, adoption)
      },
    }),
  ]
}
