/** What an operator asks: whether the log is sound, and to look again. */
import { json, type RouteTable, route } from '@cairn/platform'
import { z } from 'zod'
import type { RegistryParts } from '../parts.ts'

const report = z.looseObject({
  next: z.int(),
  size: z.int(),
  progress: z.number(),
  bad: z.strictObject({ index: z.int(), why: z.string() }).nullable(),
  completed_at: z.number().nullable(),
})

export function adminRoutes({ verifier }: RegistryParts): RouteTable {
  return [
    route({
      method: 'GET',
      path: '/admin/verify',
      lane: 'inline',
      scope: 'registry:admin',
      summary: 'How far the deep verifier has come, and the first entry it found wrong.',
      responses: { 200: { description: 'The report.', schema: report } },
      handler: () => json(200, verifier.report()),
    }),
    route({
      method: 'POST',
      path: '/admin/verify',
      lane: 'inline',
      scope: 'registry:admin',
      summary: 'Begins to read the whole log again.',
      responses: { 202: { description: 'Under way.', schema: report } },
      handler: () => {
        verifier.begin()
        return json(202, verifier.report())
      },
    }),
  ]
}
