/** What upstreams have, filled on demand. */
import { type RouteTable, route } from '@cairn/platform'
import { z } from 'zod'
import { FILL_ERRORS, noSuchRoute, READ_ERRORS } from '../errors.ts'
import type { UpstreamRoute } from '../fill/upstream-route.ts'
import type { EdgeParts } from '../parts.ts'
import { FILE_RESPONSES } from './objects.ts'
import { restOf } from './rest-of-path.ts'

const PATH = '/edge/assets/u/:route/*'
const params = z.looseObject({ route: z.string() })
const PASSED = ['POST', 'PUT', 'PATCH', 'DELETE', 'M-SEARCH'] as const

export function upstreamRouteTable({ upstream, upstreamRoutes }: EdgeParts): RouteTable {
  const routeNamed = (name: string): UpstreamRoute => {
    const known = upstreamRoutes().get(name)
    if (known === undefined) throw noSuchRoute(name)
    return known
  }
  return [
    route({
      method: 'GET',
      path: PATH,
      lane: 'inline',
      summary: 'From the cache, or from the upstream of this name through it.',
      params,
      responses: { ...FILE_RESPONSES, 204: { description: 'As the upstream says.' } },
      errors: { ...READ_ERRORS, ...FILL_ERRORS, not_cached: 504 },
      handler: (context) => upstream.answer(context, routeNamed(context.params.route), restOf(context.path, 4)),
    }),
    ...PASSED.map((method) =>
      route({
        method,
        path: PATH,
        lane: 'inline',
        summary: 'Handed on to an upstream that lists the method; what it may have changed is forgotten here.',
        params,
        body: 'bytes',
        responses: { 200: { description: 'As the upstream says.' } },
        errors: { ...FILL_ERRORS, not_found: 404, method_not_allowed: 405 },
        handler: async (context) =>
          await upstream.pass(context, routeNamed(context.params.route), restOf(context.path, 4), context.body),
      }),
    ),
  ]
}
