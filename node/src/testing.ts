/** What tests and tools use and the product does not. */
export { type NodeControl, nodeRoutes } from './routes.ts'
export { NODE_ABOUT, NODE_TOPOLOGY } from './topology.ts'
export { VERSION } from './version.ts'
