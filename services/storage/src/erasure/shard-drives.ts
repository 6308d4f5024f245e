/** The targets of shards together: who is asked, in which order, and what they know. */
import { isKind, toCairnError } from '@cairn/kernel'
import type { ChunkBytes } from '@cairn/store'
import type { Address } from '@cairn/wire'
import { placementOrder } from '../placement/placement-core.ts'
import type { ShardTarget } from './shard-target.ts'
import type { StripeDescriptor } from './stripe-core.ts'
import { StripeMap } from './stripe-map.ts'

const ORDERS_MAX = 1024

export class ShardDrives {
  readonly all: readonly ShardTarget[]
  /** Orders of stripes that were asked for lately: an order takes as long as reading a shard from memory. */
  readonly #orders = new Map<Address, readonly ShardTarget[]>()
  /** The targets they were made for; a drive has its own id from the moment it was first seen. */
  #ids: readonly string[] = []

  constructor(targets: readonly ShardTarget[]) {
    this.all = targets
  }

  /** How many shards of a stripe can be kept apart from each other now. */
  get writableDomains(): number {
    return new Set(this.all.filter((target) => target.health().tag === 'up').map(({ domain }) => domain)).size
  }

  /** Those that take shards, in the order of a stripe; its first chunk names it, before the object has an address. */
  writable(firstChunk: Address): ShardTarget[] {
    return this.#order(firstChunk).filter((target) => target.health().tag === 'up')
  }

  readable(name: Address): ShardTarget[] {
    return this.#order(name).filter((target) => target.health().tag !== 'down')
  }

  #order(name: Address): readonly ShardTarget[] {
    if (this.all.some(({ id }, at) => id !== this.#ids[at])) {
      this.#ids = this.all.map(({ id }) => id)
      this.#orders.clear()
    }
    const known = this.#orders.get(name)
    if (known !== undefined) return known
    const order = placementOrder(name, this.all)
    const [oldest] = this.#orders.keys()
    if (this.#orders.size >= ORDERS_MAX && oldest !== undefined) this.#orders.delete(oldest)
    this.#orders.set(name, order)
    return order
  }

  /**
   * The stripes of the object, by its newest record; nothing if no target has one, or if that is of a whole copy. A
   * target that was away may have an older generation: it is never mixed in.
   */
  async find(object: Address): Promise<StripeMap | undefined> {
    const found = await Promise.all(
      this.readable(object).map(async (target) => {
        try {
          return await target.stat(object)
        } catch (error) {
          if (canBeAskedElsewhere(error)) return undefined
          throw error
        }
      }),
    )
    const newest = found.flatMap((facts) => facts ?? []).sort((a, b) => b.version - a.version)[0]
    if (newest?.stripes === undefined) return undefined
    return new StripeMap(object, newest, newest.stripes, async (page) => await this.read(page, object))
  }

  /** The shard or page from whoever has it sound; `undefined` if nobody has. `near` says where to look first. */
  async read(id: Address, near: Address): Promise<ChunkBytes | undefined> {
    for (const target of this.readable(near)) {
      try {
        const held = await target.read(id)
        if (held !== undefined) return held
      } catch (error) {
        if (!canBeAskedElsewhere(error)) throw error
      }
    }
    return undefined
  }

  /** How many shards of the stripe are durable on some readable target, also if none keeps them for the object. */
  count({ shards }: StripeDescriptor): number {
    const ids = shards.flatMap((id) => id ?? [])
    const answers = this.all.filter((target) => target.health().tag !== 'down').map((target) => target.has(ids))
    return ids.filter((_, at) => answers.some((its) => its[at])).length
  }

  /** Which shards of the stripe each readable target keeps. */
  async kept({ object, shards }: StripeDescriptor): Promise<Map<ShardTarget, Set<number>>> {
    const stored = shards.flatMap((id, index) => (id === undefined ? [] : { id, index }))
    const ids = stored.map(({ id }) => id)
    const kept = new Map<ShardTarget, Set<number>>()
    const targets = this.readable(ids[0] ?? object)
    const answers = await Promise.all(
      targets.map(async (target) => {
        try {
          return await target.keeps(object, ids)
        } catch (error) {
          if (canBeAskedElsewhere(error)) return []
          throw error
        }
      }),
    )
    for (const [at, target] of targets.entries()) {
      const its = stored.filter((_, shard) => answers[at]?.[shard] === true)
      kept.set(target, new Set(its.map(({ index }) => index)))
    }
    return kept
  }
}

/** A damaged shard, or a drive that fails, leaves the others. */
export function canBeAskedElsewhere(error: unknown): boolean {
  if (isKind(error, 'Integrity')) return true
  const { kind } = toCairnError(error)
  return kind === 'StorageBusy' || kind === 'Timeout' || kind === 'NotFound'
}
