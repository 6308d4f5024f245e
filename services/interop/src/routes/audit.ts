/** `GET /audit`: the chain, line by line, as it was written. */
import { json, type RouteTable, route } from '@cairn/http'
import { z } from 'zod'
import { seqOf } from '../domain/audit-chain.ts'
import type { InteropParts } from '../parts.ts'

/** After the last line; where some were lost, numbers are left out. */
function nextOf(lines: readonly string[], from: number): number {
  const last = lines.at(-1)
  return last === undefined ? from : seqOf(last) + 1
}

const LINES_MAX = 1000

const query = z.strictObject({
  cursor: z.coerce.number().int().min(1).optional(),
  limit: z.coerce.number().int().min(1).max(LINES_MAX).default(100),
})

export function auditRoutes({ ledger }: InteropParts): RouteTable {
  return [
    route({
      method: 'GET',
      path: '/audit',
      lane: 'inline',
      scope: 'audit:read',
      summary:
        'Lines of the audit from `cursor` on, each exactly as it was hashed; and how far the registry vouches for them.',
      query,
      responses: {
        200: {
          description: 'Lines, oldest first.',
          schema: z.strictObject({
            lines: z.array(z.string()),
            next: z.int(),
            first: z.int(),
            count: z.int(),
            head: z.string(),
            anchored: z.int(),
            anchor: z.strictObject({ head: z.string(), count: z.int(), log_index: z.int() }).nullable(),
          }),
        },
      },
      errors: { DOWNSTREAM_UNAVAILABLE: 503 },
      handler: async ({ query: { cursor, limit } }) => {
        const { chain } = ledger
        const from = Math.max(cursor ?? chain.first, chain.first)
        const { count, head } = chain.point
        const { anchored, anchorIndex } = chain
        const lines = await ledger.lines(from, Math.min(limit, Math.max(0, count - from + 1)))
        const anchor =
          anchorIndex === undefined ? null : { head: anchored.head, count: anchored.count, log_index: anchorIndex }
        return json(200, {
          lines,
          next: nextOf(lines, from),
          first: chain.first,
          count,
          head,
          anchored: anchored.count,
          anchor,
        })
      },
    }),
  ]
}
