/** Objects by address. */

import { LOOKUP_NAME, textOf } from '@cairn/api'
import { empty, type RouteTable, route } from '@cairn/http'
import { CairnError } from '@cairn/kernel'
import { type Address, parseAddress } from '@cairn/wire'
import { z } from 'zod'
import { INERT } from '../answers/response-headers.ts'
import { FILL_ERRORS, noSuchRoute, READ_ERRORS } from '../errors.ts'
import type { UpstreamRoute } from '../fill/upstream-route.ts'
import type { EdgeParts } from '../parts.ts'

export const FILE_RESPONSES = {
  200: { description: 'All of it.', mediaType: 'application/octet-stream' },
  206: { description: 'The range asked for.', mediaType: 'application/octet-stream' },
  304: { description: 'The client has it.' },
} as const

// What upstreams have, filled on demand.

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

// Names and their trees as websites: under a path, sandboxed; and on an origin of their own.

const PAGE_RESPONSES = { ...FILE_RESPONSES, 308: { description: 'A directory: the same with a slash.' } } as const
const PAGE_ERRORS = { ...READ_ERRORS, ...FILL_ERRORS, directory_too_large: 422, integrity: 502 } as const

export function nameRoutes({ sites }: EdgeParts): RouteTable {
  return [
    route({
      method: 'GET',
      path: '/edge/assets/n/:name',
      lane: 'inline',
      summary: 'To the root of a site.',
      params: z.strictObject({ name: z.string().min(1) }),
      responses: { 308: { description: 'The same with a slash.' } },
      handler: ({ path }) => empty(308, ['Location', `./${path.slice(path.lastIndexOf('/') + 1)}/`]),
    }),
    route({
      method: 'GET',
      path: '/edge/assets/n/:name/*',
      lane: 'inline',
      summary: 'A file of a site: index.html of a directory, 404.html for what is not there. Runs no scripts.',
      params: z.looseObject({ name: z.string().min(1).meta({ pattern: LOOKUP_NAME.source }) }),
      responses: PAGE_RESPONSES,
      errors: PAGE_ERRORS,
      handler: async (context) =>
        await sites.answer(context, { name: context.params.name, path: restOf(context.path, 4), origin: 'shared' }),
    }),
  ]
}

/** All there is on a site's own host. */
export function siteRoutes({ sites, siteNames }: EdgeParts): RouteTable {
  return [
    route({
      method: 'GET',
      path: '/*',
      lane: 'inline',
      summary: 'A file of the site whose host this is.',
      responses: PAGE_RESPONSES,
      errors: PAGE_ERRORS,
      handler: async (context) => {
        const name = siteNames().get(context.host)
        if (name === undefined) throw new CairnError('NotFound', 'There is no site at this host any more.')
        return await sites.answer(context, { name, path: restOf(context.path, 0), origin: 'own' })
      },
    }),
  ]
}

/** A path after its first `segments` segments, as it stands in the request and without a leading slash. */
function restOf(path: string, segments: number): string {
  let at = 0
  for (let passed = 0; passed < segments; passed += 1) at = path.indexOf('/', at + 1)
  return at === -1 ? '' : path.slice(at + 1)
}

/** 64 hex digits, with or without `b3:` before them. */
export const hexAddress = textOf(
  /^(?:b3:)?[0-9a-f]{64}$/,
  (text): Address => parseAddress(text.startsWith('b3:') ? text : `b3:${text}`),
)

/** An address never means other bytes. */
const IMMUTABLE: readonly string[] = ['Cache-Control', 'public, max-age=31536000, immutable', 'Vary', 'Accept-Encoding']
const OBJECT_REPRESENTATION = { route: 'b3', status: 200, type: undefined, headers: [...IMMUTABLE, ...INERT] } as const

export function objectRoutes({ objects }: EdgeParts): RouteTable {
  return [
    route({
      method: 'GET',
      path: '/edge/assets/b3/:hex',
      lane: 'inline',
      summary: 'An object, from this node or a provider; every byte is proved before it leaves.',
      params: z.strictObject({ hex: hexAddress }),
      responses: FILE_RESPONSES,
      errors: { ...READ_ERRORS, ...FILL_ERRORS, integrity: 502 },
      handler: (context) => objects.answer(context, context.params.hex, OBJECT_REPRESENTATION),
    }),
  ]
}
