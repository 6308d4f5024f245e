/** What tests and tools use and the product does not. */
export { type PackDependencies } from './open-pack.ts'
export { type MapTile } from './pack.ts'
