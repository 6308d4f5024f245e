/** What tests and tools use and the product does not. */

export { serveNode } from './connection/node-listener.ts'
export { openApi } from './docs/openapi.ts'
export { renderRoutes } from './docs/route-docs.ts'
export { type Authorizer } from './pipeline/authorizer.ts'
