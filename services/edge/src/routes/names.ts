/** Names and their trees as websites: under a path, sandboxed; and on an origin of their own. */
import { CairnError } from '@cairn/kernel'
import { empty, type RouteTable, route } from '@cairn/platform'
import { z } from 'zod'
import { FILL_ERRORS, READ_ERRORS } from '../errors.ts'
import type { EdgeParts } from '../parts.ts'
import { FILE_RESPONSES } from './objects.ts'
import { restOf } from './rest-of-path.ts'

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
      params: z.looseObject({ name: z.string().min(1) }),
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
