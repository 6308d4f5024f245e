/**
 * Chunks of every object, striped or not.
 *
 *     a chunk of a striped object ─▶ `stripe-reader.ts`         a page, or a chunk of a replicated one ─▶ its copies
 */
import { isKind } from '@cairn/kernel'
import type { Platform } from '@cairn/platform'
import type { ChunkBytes, ObjectFacts, StripeFacts } from '@cairn/store'
import type { Address } from '@cairn/wire'
import type { ChunkSource, ChunkUse } from '../domain/chunk-reader.ts'
import { type HedgingCore, mayHedge, readBegins, readerWaited } from '../replication/hedge-core.ts'
import type { ShardDrives } from './shard-drives.ts'
import { StripeMap } from './stripe-map.ts'
import { StripeReader } from './stripe-reader.ts'

export interface StripedSourceOptions {
  readonly drives: ShardDrives
  /** Where whole copies come from. */
  readonly copies: ChunkSource
  /** Shared with the readers of copies: extra load is extra load. */
  readonly hedging: HedgingCore
  readonly isHedged: boolean
}

interface Place {
  readonly object: Address
  readonly chunk: number
}

export class StripedSource implements ChunkSource {
  readonly #platform: Platform
  readonly #options: StripedSourceOptions
  readonly #reader: StripeReader

  constructor(platform: Platform, options: StripedSourceOptions) {
    const { drives, hedging, isHedged } = options
    this.#platform = platform
    this.#options = options
    this.#reader = new StripeReader(platform, drives, {
      delayMs: () => hedging.delayMs,
      mayHedge: () => {
        const isAllowed = isHedged && mayHedge(hedging)
        if (isAllowed) platform.metrics.count('hedged_reads_total')
        return isAllowed
      },
    })
  }

  cached(id: Address): ChunkBytes | undefined {
    return this.#options.copies.cached(id)
  }

  async read(id: Address, use?: ChunkUse): Promise<ChunkBytes | undefined> {
    if (use?.chunk === undefined || use.facts.stripes === undefined) return await this.#options.copies.read(id, use)
    const cached = this.cached(id)
    if (cached !== undefined) return cached
    const { hedging } = this.#options
    const beganAt = this.#platform.clock.now()
    readBegins(hedging)
    const { object, chunk, facts } = use
    const bytes = await this.#fromShards(id, { object, chunk }, facts, use.facts.stripes)
    readerWaited(hedging, this.#platform.clock.now() - beganAt)
    return bytes
  }

  async #fromShards(
    id: Address,
    { object, chunk }: Place,
    facts: ObjectFacts,
    stripes: StripeFacts,
  ): Promise<ChunkBytes> {
    const { drives } = this.#options
    const map = new StripeMap(object, facts, stripes, async (page) => await drives.read(page, object))
    try {
      return await this.#reader.read(map, chunk, id)
    } catch (error) {
      if (!isKind(error, 'Integrity')) throw error
      // It may have been coded anew since its record was read; in the same generation the answer stands.
      const newest = await drives.find(object)
      if (
        newest === undefined ||
        newest.generation === stripes.generation ||
        newest.shape.chunkSize !== facts.chunkSize
      )
        throw error
      return await this.#reader.read(newest, chunk, id)
    }
  }
}
