/** What tests and tools use and the product does not. */
export { REGISTRY_CODES } from './errors.ts'
export { registryRoutes } from './main.ts'
export { REGISTRY_METRICS } from './metrics.ts'
export { REGISTRY_TOPOLOGY } from './topology.ts'
