import { type CairnError, isKind, toCairnError } from '@cairn/kernel'
import type { ChunkBytes } from '@cairn/store'
import type { Address } from '@cairn/wire'
import type { ChunkSource } from '../domain/chunk-reader.ts'
import type { Drives } from './drives.ts'
import type { OwnCopies } from './own-copies.ts'

/** Chunks on the drives of this node, and nobody further: what a peer may ask for. */
export class OwnChunks implements ChunkSource {
  readonly #drives: Drives
  readonly #own: OwnCopies

  constructor(drives: Drives, own: OwnCopies) {
    this.#drives = drives
    this.#own = own
  }

  cached(id: Address): ChunkBytes | undefined {
    for (const { state } of this.#drives.all) {
      const held = state.tag === 'open' ? state.chunks.cached(id) : undefined
      if (held !== undefined) return held
    }
    return undefined
  }

  async read(id: Address): Promise<ChunkBytes | undefined> {
    this.#own.mustBeReadable()
    let failure: CairnError | undefined
    for (const { drive } of this.#own.readable(id)) {
      try {
        const held = await drive.contents.chunks.read(id)
        if (held !== undefined) return held
      } catch (error) {
        if (!isKind(error, 'Integrity') && !isKind(error, 'StorageBusy')) throw error
        failure ??= toCairnError(error)
      }
    }
    if (failure !== undefined) throw failure
    return undefined
  }
}
