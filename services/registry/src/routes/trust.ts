/** What a reader has to know of this log before it can believe anything else. */
import { encodeTrust } from '@cairn/names'
import { type RouteTable, route } from '@cairn/platform'
import { z } from 'zod'
import type { RegistryParts } from '../parts.ts'
import { REVALIDATED } from './params.ts'

export function trustRoute({ signer: { identity, keys } }: RegistryParts): RouteTable[number] {
  const body = encodeTrust({ ...identity, logKeys: keys })
  return route({
    method: 'GET',
    path: '/registry/trust',
    lane: 'inline',
    summary:
      'A trust file for `cairn verify-proof`: the origin, the genesis and the keys of the log. It is worth what the way it came is worth.',
    responses: { 200: { description: 'The trust file.', schema: z.looseObject({ schema: z.string() }) } },
    handler: () => ({
      status: 200,
      headers: ['Content-Type', 'application/json', 'Cache-Control', REVALIDATED],
      body,
    }),
  })
}
