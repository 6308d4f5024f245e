/** Every route of the storage service. */
import { defineRoutes, eventsRoute, type RouteTable } from '@cairn/platform'
import type { StorageParts } from './parts.ts'
import { adminRoutes } from './routes/admin.ts'
import { chunkRoutes } from './routes/chunks.ts'
import { copyRoutes } from './routes/copies.ts'
import { manifestRoutes } from './routes/manifests.ts'
import { objectReads } from './routes/object-reads.ts'
import { objectWrites } from './routes/object-writes.ts'
import { referenceRoutes } from './routes/references.ts'

export function storageRoutes(parts: StorageParts): RouteTable {
  return defineRoutes([
    ...objectReads(parts),
    ...objectWrites(parts),
    ...chunkRoutes(parts),
    ...manifestRoutes(parts),
    ...referenceRoutes(parts),
    ...copyRoutes(parts),
    ...adminRoutes(parts),
    eventsRoute(parts.runtime.clock, parts.events),
  ])
}
