export { type IndexConfig } from './config.ts'
export { INDEX, type IndexHost } from './main.ts'
export { type IndexDependencies, type IndexParts } from './parts.ts'
