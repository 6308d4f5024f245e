/** What tests and tools use and the product does not. */
export { type StorageConfig, storageSection } from './config.ts'
export { STORAGE_CODES } from './errors.ts'
export { storageRoutes } from './main.ts'
export { STORAGE_METRICS } from './metrics.ts'
export { openParts, type StorageParts } from './parts.ts'
export { STORAGE_TOPOLOGY } from './topology.ts'
