/** Erasure codes on worker threads: nothing may hold up the event loop for the length of a stripe. */
import type { WorkerTask } from '@cairn/platform'
import { type EncodeInput, encodeParity, type ReconstructInput, reconstructWanted } from './worker.ts'

export type { EncodeInput, ReconstructInput } from './worker.ts'

const WORKER = new URL('./worker.ts', import.meta.url)

/** The parity shards of the data shards. */
export const ENCODE: WorkerTask<EncodeInput, Uint8Array[]> = {
  module: WORKER,
  name: 'encodeParity',
  types: encodeParity,
}

/** As `reconstruct`. */
export const RECONSTRUCT: WorkerTask<ReconstructInput, Uint8Array[]> = {
  module: WORKER,
  name: 'reconstructWanted',
  types: reconstructWanted,
}
