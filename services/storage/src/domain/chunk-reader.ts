import { isKind, type Runtime, toCairnError } from '@cairn/kernel'
import type { ChunkBytes, Storage } from '@cairn/store'
import type { Address } from '@cairn/wire'
import { readFailed } from '../errors.ts'
import type { Repairs } from './repairs.ts'

const FROM_MEMORY = { tier: 'memory' }
const FROM_DISK = { tier: 'disk' }

/** Chunks as the service reads them: counted, and a damaged one goes to repair the moment it is found. */
export class ChunkReader {
  readonly #runtime: Runtime
  readonly #chunks: Storage['chunks']
  readonly #repairs: Repairs

  constructor(runtime: Runtime, chunks: Storage['chunks'], repairs: Repairs) {
    this.#runtime = runtime
    this.#chunks = chunks
    this.#repairs = repairs
  }

  /** The proved bytes, if they are in memory. */
  cached(id: Address): ChunkBytes | undefined {
    const held = this.#chunks.cached(id)
    if (held !== undefined) this.#runtime.metrics.count('chunks_read_total', FROM_MEMORY)
    return held
  }

  /** The bytes, proved; `undefined` if there is no such chunk. `Integrity` if what is there is not the chunk. */
  async read(id: Address): Promise<ChunkBytes | undefined> {
    const cached = this.cached(id)
    if (cached !== undefined) return cached
    try {
      const held = await this.#chunks.read(id)
      if (held !== undefined) this.#runtime.metrics.count('chunks_read_total', FROM_DISK)
      return held
    } catch (error) {
      if (isKind(error, 'Integrity')) this.#repairs.damaged(id)
      throw isKind(error, 'Internal') ? readFailed(toCairnError(error)) : error
    }
  }
}
