/** What tests and tools use and the product does not. */
export { interopSection } from './config.ts'
export { INTEROP_CODES } from './errors.ts'
export { interopRoutes } from './main.ts'
export { INTEROP_METRICS } from './metrics.ts'
export { openParts } from './parts.ts'
export { INTEROP_TOPOLOGY } from './topology.ts'
