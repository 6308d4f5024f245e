/** Every route of the registry. There is none, and no configuration key, that changes signers or quorum: only the log does. */
import { defineRoutes, eventsRoute, type RouteTable } from '@cairn/http'
import type { RegistryParts } from './parts.ts'
import { adminRoutes } from './routes/admin.ts'
import { decisionRoutes } from './routes/decisions.ts'
import { logRoutes } from './routes/log.ts'
import { proofRoutes } from './routes/proofs.ts'
import { proposalRoutes } from './routes/proposals.ts'
import { readRoutes, trustRoute } from './routes/reads.ts'
import { streamRoute } from './routes/stream.ts'

export function registryRoutes(parts: RegistryParts): RouteTable {
  return defineRoutes([
    ...proposalRoutes(parts),
    ...decisionRoutes(parts),
    ...readRoutes(parts),
    streamRoute(parts),
    ...proofRoutes(parts),
    trustRoute(parts),
    ...logRoutes(parts),
    ...adminRoutes(parts),
    eventsRoute(parts.runtime.clock, parts.events),
  ])
}
