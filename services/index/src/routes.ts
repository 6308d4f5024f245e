/** Every route of the index. */
import { defineRoutes, eventsRoute, type RouteTable } from '@cairn/platform'
import type { IndexParts } from './parts.ts'
import { adminRoutes } from './routes/admin.ts'
import { announceRoute } from './routes/announce.ts'
import { delegatedRoute } from './routes/delegated.ts'
import { facetRoutes } from './routes/facets.ts'
import { providerRoutes } from './routes/providers.ts'
import { resolveRoute } from './routes/resolve.ts'

export function indexRoutes(parts: IndexParts): RouteTable {
  return defineRoutes([
    resolveRoute(parts),
    ...providerRoutes(parts),
    delegatedRoute(parts),
    announceRoute(parts),
    ...adminRoutes(parts),
    ...facetRoutes(parts),
    eventsRoute(parts.runtime.clock, parts.events),
  ])
}
