/** Every route of the edge; those of sites are served on their own hosts, and nowhere else. */
import { defineRoutes, eventsRoute, type RouteTable } from '@cairn/http'
import type { EdgeParts } from './parts.ts'
import { adminRoutes } from './routes/admin.ts'
import { nameRoutes, objectRoutes, siteRoutes, upstreamRouteTable } from './routes/content.ts'
import { packRoutes } from './routes/packs.ts'

export function edgeRoutes(parts: EdgeParts): RouteTable {
  return defineRoutes([
    ...objectRoutes(parts),
    ...nameRoutes(parts),
    ...packRoutes(parts),
    ...upstreamRouteTable(parts),
    ...adminRoutes(parts),
    eventsRoute(parts.runtime.clock, parts.events),
  ])
}

export function siteRouteTable(parts: EdgeParts): RouteTable {
  return defineRoutes(siteRoutes(parts))
}
