/** Every route of interop. */
import { defineRoutes, eventsRoute, type RouteTable } from '@cairn/http'
import type { InteropParts } from './parts.ts'
import { auditRoutes } from './routes/audit.ts'
import { mailboxRoutes } from './routes/mailbox.ts'
import { objectRoutes } from './routes/objects.ts'
import { adoptRoutes, hookRoutes } from './routes/operator.ts'
import { putRoutes } from './routes/put.ts'
import { webhookRoutes } from './routes/webhooks.ts'

export function interopRoutes(parts: InteropParts): RouteTable {
  return defineRoutes([
    ...webhookRoutes(parts),
    ...hookRoutes(parts),
    ...putRoutes(parts),
    ...objectRoutes(parts),
    ...mailboxRoutes(parts),
    ...auditRoutes(parts),
    ...adoptRoutes(parts),
    eventsRoute(parts.runtime.clock, parts.events),
  ])
}
