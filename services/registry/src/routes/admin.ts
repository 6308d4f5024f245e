/** What an operator asks: whether the log is sound, and to look again. */
import { registryAnswers } from '@cairn/api'
import { json, type RouteTable, route } from '@cairn/http'
import { z } from 'zod'
import type { RegistryParts } from '../parts.ts'

export function adminRoutes(parts: RegistryParts): RouteTable {
  const { verifier } = parts
  return [
    adopt(parts),
    route({
      method: 'GET',
      path: '/admin/verify',
      lane: 'inline',
      scope: 'registry:admin',
      summary: 'How far the deep verifier has come, and the first entry it found wrong.',
      responses: { 200: { description: 'The report.', schema: registryAnswers.verifyReport } },
      handler: () => json(200, verifier.report()),
    }),
    route({
      method: 'POST',
      path: '/admin/verify',
      lane: 'inline',
      scope: 'registry:admin',
      summary: 'Begins to read the whole log again.',
      responses: { 202: { description: 'Under way.', schema: registryAnswers.verifyReport } },
      handler: () => {
        verifier.begin()
        return json(202, verifier.report())
      },
    }),
  ]
}

function adopt({ custody }: RegistryParts): RouteTable[number] {
  return route({
    method: 'POST',
    path: '/admin/adopt',
    lane: 'inline',
    scope: 'registry:admin',
    summary:
      'Lets a registry that was restored from a backup or put back from a copy write again, after a restart: the body is the newest checkpoint anybody has seen, and shows that nothing is missing here. `?moved=true` says that nothing was signed since, where no such checkpoint is to be had.',
    query: z.strictObject({ moved: z.literal('true').optional() }),
    body: 'bytes',
    responses: { 200: { description: 'Adopted.', schema: z.strictObject({ size: z.int() }) } },
    errors: { Malformed: 400, Behind: 409, Forked: 409, NotRestored: 409, OwnCheckpoint: 409, InvalidSig: 422 },
    handler: async ({ body, query: { moved } }) =>
      json(200, { size: await custody.adopt(body, { isMoved: moved !== undefined }) }),
  })
}
