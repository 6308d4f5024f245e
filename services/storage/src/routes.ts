/** Every route of the storage service. */
import { defineRoutes, type RouteTable } from '@cairn/platform'
import type { StorageParts } from './parts.ts'
import { adminRoutes } from './routes/admin.ts'
import { chunkRoutes } from './routes/chunks.ts'
import { objectRoutes } from './routes/objects.ts'

export function storageRoutes(parts: StorageParts): RouteTable {
  return defineRoutes([...objectRoutes(parts), ...chunkRoutes(parts), ...adminRoutes(parts)])
}
