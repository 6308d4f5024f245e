export { encode, reconstruct, type ShardsWithHoles, verify } from './code.ts'
export { ENCODE, RECONSTRUCT } from './tasks.ts'
export type { EncodeInput, ReconstructInput } from './worker.ts'
