/** What tests and tools use and the product does not. */
export { REGISTRY_CODES } from './errors.ts'
export { REGISTRY_METRICS } from './metrics.ts'
export { registryRoutes } from './routes.ts'
export { REGISTRY_TOPOLOGY } from './topology.ts'
