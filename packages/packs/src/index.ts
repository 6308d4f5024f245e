export { openPack, type PackMachine } from './open-pack.ts'
export {
  type Pack,
  type PackCount,
  type PackFacts,
  type ReadOptions,
  TILE_TYPES,
  type Tile,
  type TileCoding,
} from './pack.ts'
