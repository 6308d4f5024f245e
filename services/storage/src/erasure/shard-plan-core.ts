/**
 * Where the shards of a stripe belong: each in a failure domain of its own.
 *
 *     order     the targets, as placement ranks them for this stripe
 *     kept      which shards each target keeps for the object
 *     plan      a lost shard goes to the first target whose domain keeps none of the stripe; the others stay where they are
 */

export interface Home {
  readonly id: string
  readonly domain: string
}

/** The first targets of the order in distinct domains, one for each shard; fewer if there are not as many. */
export function homesOf<T extends Home>(order: readonly T[], count: number): T[] {
  const domains = new Set<string>()
  const homes: T[] = []
  for (const target of order) {
    if (homes.length === count) break
    if (domains.has(target.domain)) continue
    domains.add(target.domain)
    homes.push(target)
  }
  return homes
}

export interface StripePlan<T> {
  /** Shards that exist somewhere, in distinct domains: this many may still be read after any loss of one drive each. */
  readonly left: number
  /** Shards nobody keeps, and who should; nothing where every domain keeps one already. */
  readonly lost: readonly { readonly shard: number; readonly home: T | undefined }[]
}

/** `shards` are the indices that are stored at all. */
export function planStripe<T extends Home>(
  order: readonly T[],
  shards: readonly number[],
  kept: ReadonlyMap<T, ReadonlySet<number>>,
): StripePlan<T> {
  const taken = new Set<string>()
  const found = new Set<number>()
  for (const [target, its] of kept) {
    for (const shard of its) found.add(shard)
    if (its.size > 0) taken.add(target.domain)
  }
  const free = homesOf(
    order.filter(({ domain }) => !taken.has(domain)),
    shards.length,
  )
  const missing = shards.filter((shard) => !found.has(shard))
  return {
    left: shards.length - missing.length,
    lost: missing.map((shard, at) => ({ shard, home: free[at] })),
  }
}

/** `urgent` when the next loss may be one too many: no more shards are left than are needed. */
export function urgencyOf(left: number, needed: number): 'lost' | 'urgent' | 'parity' {
  if (left < needed) return 'lost'
  return left === needed ? 'urgent' : 'parity'
}
