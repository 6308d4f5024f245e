export { ENCODE, RECONSTRUCT } from './tasks.ts'
export type { EncodeInput, ReconstructInput } from './worker.ts'
