/**
 * Chunks of striped objects: the data shard itself, or what parity makes of the others.
 *
 *     data shard ─ here, sound ─────────────────────▶ out
 *         ├─ late: hedged, if extra load allows ─┐
 *         └─ gone or damaged ────────────────────┴─▶ any k of the stripe ─▶ decoded on a thread ─▶ hashed ─▶ out
 */
import { CairnError, isKind, toCairnError } from '@cairn/kernel'
import type { Platform } from '@cairn/platform'
import type { ChunkBytes, ObjectFacts, StripeFacts } from '@cairn/store'
import type { Address } from '@cairn/wire'
import type { ChunkReadPurpose, ChunkSource } from '../objects/object-reader.ts'
import { type HedgingCore, mayHedge, readBegins, readerWaited } from '../placement/read-hedging-core.ts'
import { decodeStripe } from './coding.ts'
import { canBeAskedElsewhere, type ShardDrives } from './shard-drives.ts'
import type { StripeDescriptor } from './stripe-core.ts'
import { StripeMap } from './stripe-map.ts'

/*
 * Chunks of every object, striped or not.
 *
 *     a chunk of a striped object ─▶ `stripe-reader.ts`         a page, or a chunk of a replicated one ─▶ its copies
 */

export interface StripedSourceOptions {
  readonly drives: ShardDrives
  /** Where whole copies come from. */
  readonly copies: ChunkSource
  /** Shared with the readers of copies: extra load is extra load. */
  readonly hedging: HedgingCore
  readonly isHedged: boolean
}

interface ChunkPosition {
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

  async read(id: Address, use?: ChunkReadPurpose): Promise<ChunkBytes | undefined> {
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
    { object, chunk }: ChunkPosition,
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

/** Rebuilt chunks that are kept for whoever reads on in the same stripe. */
const REBUILT_MAX = 32

export interface HedgePolicy {
  readonly delayMs: () => number
  /** Whether the extra load is allowed; counted if so. */
  readonly mayHedge: () => boolean
}

type ShardReadOutcome =
  | { readonly tag: 'read'; readonly held: ChunkBytes | undefined }
  | { readonly tag: 'failed'; readonly error: unknown }

export class StripeReader {
  readonly #platform: Platform
  readonly #drives: ShardDrives
  readonly #hedging: HedgePolicy
  readonly #rebuilt = new Map<Address, Uint8Array>()
  readonly #rebuilding = new Map<string, Promise<ReadonlyMap<number, Uint8Array>>>()

  constructor(platform: Platform, drives: ShardDrives, hedging: HedgePolicy) {
    this.#platform = platform
    this.#drives = drives
    this.#hedging = hedging
  }

  /** The chunk, proved. `Integrity` if fewer shards are left than it takes to make it. */
  async read(map: StripeMap, chunk: number, id: Address): Promise<ChunkBytes> {
    const known = this.#rebuilt.get(id)
    if (known !== undefined) return unpooled(known)
    const rebuild = async (): Promise<ChunkBytes> => {
      const { k } = map.shape
      return await this.#rebuild(await map.stripe(Math.floor(chunk / k)), chunk % k)
    }
    return (await this.#orHedged(id, map.object, rebuild)) ?? (await rebuild())
  }

  /** The data shard, or what parity makes of the others if that is there first. */
  async #orHedged(id: Address, object: Address, rebuild: () => Promise<ChunkBytes>): Promise<ChunkBytes | undefined> {
    const { promise, resolve } = Promise.withResolvers<ShardReadOutcome>()
    const state = { isOver: false }
    const settle = (outcome: ShardReadOutcome): void => {
      // Whoever comes second has nobody to give it to.
      if (state.isOver && outcome.tag === 'read') outcome.held?.[Symbol.dispose]()
      state.isOver = true
      resolve(outcome)
    }
    const failed = (error: unknown): void => settle({ tag: 'failed', error })
    this.#drives.read(id, object).then((held) => settle({ tag: 'read', held }), failed)
    const timer = this.#platform.clock.timer(this.#hedging.delayMs(), () => {
      if (state.isOver || !this.#hedging.mayHedge()) return
      // If parity cannot help, the shard itself still may come.
      rebuild().then((held) => settle({ tag: 'read', held }), toCairnError)
    })
    try {
      const outcome = await promise
      if (outcome.tag === 'read') return outcome.held
      if (!canBeAskedElsewhere(outcome.error)) throw outcome.error
      return undefined
    } finally {
      timer.cancel()
    }
  }

  async #rebuild(descriptor: StripeDescriptor, index: number): Promise<ChunkBytes> {
    const { object, generation, stripe } = descriptor
    const key = `${object} ${generation} ${stripe} ${index}`
    const running = this.#rebuilding.get(key) ?? this.#decode(descriptor, index)
    this.#rebuilding.set(key, running)
    try {
      const bytes = (await running).get(index)
      if (bytes === undefined) throw tooFew(descriptor, 0)
      return unpooled(bytes)
    } finally {
      this.#rebuilding.delete(key)
    }
  }

  /** Makes this data shard, and with it every other one that turns out not to be there. */
  async #decode(descriptor: StripeDescriptor, index: number): Promise<ReadonlyMap<number, Uint8Array>> {
    const { present, absent } = await gatherShards(this.#drives, descriptor, [index])
    const wanted = new Set([index, ...absent.filter((each) => each < descriptor.k)])
    const rebuilt = await decodeStripe(this.#platform, descriptor, present, [...wanted])
    for (const [shard, bytes] of rebuilt) this.#remember(descriptor.shards[shard], bytes)
    return rebuilt
  }

  #remember(id: Address | undefined, bytes: Uint8Array): void {
    if (id === undefined) return
    this.#rebuilt.set(id, bytes)
    const [oldest] = this.#rebuilt.keys()
    if (this.#rebuilt.size > REBUILT_MAX && oldest !== undefined) this.#rebuilt.delete(oldest)
  }
}

export interface Gathered {
  /** Enough shards to make any other, copied out of their pool. */
  readonly present: ReadonlyMap<number, Uint8Array>
  /** Shards that were asked for and are not there. */
  readonly absent: readonly number[]
}

/** Reads as many shards of the stripe as it takes, each when it may, those that are to be made last. `Integrity` if there are not as many. */
export async function gatherShards(
  drives: ShardDrives,
  descriptor: StripeDescriptor,
  wanted: readonly number[],
  pace?: (bytes: number) => Promise<void>,
): Promise<Gathered> {
  const { k, shards } = descriptor
  const first = shards[0]
  const present = new Map<number, Uint8Array>()
  const absent: number[] = []
  const stored = shards.flatMap((id, index) => (id === undefined ? [] : { id, index }))
  const isWanted = ({ index }: { readonly index: number }): boolean => wanted.includes(index)
  const line = [...stored.filter((each) => !isWanted(each)), ...stored.filter(isWanted)]
  // Places without a chunk are zeros that everybody has.
  const needed = k - shards.filter((id) => id === undefined).length
  while (present.size < needed && line.length > 0) {
    const batch = line.splice(0, needed - present.size)
    const read = async ({ id, index }: (typeof batch)[number]): Promise<void> => {
      await pace?.(descriptor.sizes[index] ?? 0)
      using held = await readSound(drives, id, first ?? id)
      if (held === undefined) absent.push(index)
      else present.set(index, held.bytes.slice())
    }
    await Promise.all(batch.map(read))
  }
  if (present.size < needed) throw tooFew(descriptor, present.size)
  return { present, absent }
}

async function readSound(drives: ShardDrives, id: Address, near: Address): Promise<ChunkBytes | undefined> {
  try {
    return await drives.read(id, near)
  } catch (error) {
    if (isKind(error, 'Integrity') || canBeAskedElsewhere(error)) return undefined
    throw error
  }
}

function tooFew({ object, stripe, k, shards }: StripeDescriptor, left: number): CairnError {
  const stored = shards.filter((id) => id !== undefined).length
  const needed = k - (shards.length - stored)
  const detail = `Of stripe ${stripe} of ${object} ${left} shards are left and ${needed} of ${stored} are needed: it is lost unless a drive comes back; put the object again.`
  return new CairnError('Integrity', detail)
}

function unpooled(bytes: Uint8Array): ChunkBytes {
  return { bytes, [Symbol.dispose]: () => {} }
}
