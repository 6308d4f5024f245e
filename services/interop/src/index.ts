export { type InteropConfig } from './config.ts'
export { INTEROP, type InteropHost } from './main.ts'
export { type InteropParts } from './parts.ts'
