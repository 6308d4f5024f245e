/** What tests and tools use and the product does not. */
export { edgeSection } from './config.ts'
export { EDGE_CODES } from './errors.ts'
export { edgeRoutes } from './main.ts'
export { EDGE_METRICS } from './metrics.ts'
export { openParts } from './parts.ts'
export { EDGE_TOPOLOGY } from './topology.ts'
