export { openPack } from './open-pack.ts'
export { type Pack, type PackCount, type PackFacts, type ReadOptions, TILE_TYPES, type TileCoding } from './pack.ts'
