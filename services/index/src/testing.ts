/** What tests and tools use and the product does not. */
export { indexSection } from './config.ts'
export { INDEX_CODES } from './errors.ts'
export { indexRoutes } from './main.ts'
export { INDEX_METRICS } from './metrics.ts'
export { openParts } from './parts.ts'
export { INDEX_TOPOLOGY } from './topology.ts'
