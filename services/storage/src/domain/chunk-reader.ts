import { isKind, type Runtime, toCairnError } from '@cairn/kernel'
import type { ChunkBytes, ObjectFacts, Storage } from '@cairn/store'
import type { Address } from '@cairn/wire'
import { readFailed } from '../errors.ts'

const FROM_MEMORY = { tier: 'memory' }
const FROM_DISK = { tier: 'disk' }

/** Which object a chunk is read for, and which of its chunks it is; pages of the list of chunks are none of them. */
export type ChunkUse =
  | { readonly object: Address; readonly chunk: undefined }
  /** With what is known of the object: how it is cut into chunks, and whether it is erasure-coded. */
  | { readonly object: Address; readonly chunk: number; readonly facts: ObjectFacts }

/** Where the bytes of objects come from. */
export interface ChunkSource {
  /** The proved bytes, if they are in memory. */
  cached(id: Address): ChunkBytes | undefined
  /** The bytes, proved; `undefined` if there is no such chunk. `Integrity` if what is there is not the chunk. */
  read(id: Address, use?: ChunkUse): Promise<ChunkBytes | undefined>
}

/** Chunks of one drive as the service reads them: counted, and a damaged one is reported the moment it is found. */
export class ChunkReader implements ChunkSource {
  readonly #runtime: Runtime
  readonly #chunks: Storage['chunks']
  readonly #onDamaged: (id: Address) => void

  constructor(runtime: Runtime, chunks: Storage['chunks'], onDamaged: (id: Address) => void) {
    this.#runtime = runtime
    this.#chunks = chunks
    this.#onDamaged = onDamaged
  }

  cached(id: Address): ChunkBytes | undefined {
    const held = this.#chunks.cached(id)
    if (held !== undefined) this.#runtime.metrics.count('chunks_read_total', FROM_MEMORY)
    return held
  }

  async read(id: Address): Promise<ChunkBytes | undefined> {
    const cached = this.cached(id)
    if (cached !== undefined) return cached
    try {
      const held = await this.#chunks.read(id)
      if (held !== undefined) this.#runtime.metrics.count('chunks_read_total', FROM_DISK)
      return held
    } catch (error) {
      if (isKind(error, 'Integrity')) this.#onDamaged(id)
      throw isKind(error, 'Internal') ? readFailed(toCairnError(error)) : error
    }
  }
}
