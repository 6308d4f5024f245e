/**
 * How an object is cut into stripes. The code is systematic: data shards are the object's own chunks.
 *
 *     chunks    │ 0 │ 1 │ … │ k−1 ║ k │ k+1 │ … │ 2k−1 ║ … ║ n−1, shorter │  nothing  │ … │
 *     stripes   └──── stripe 0 ───╨──── stripe 1 ──────╨─…─╨─ last: padded with zeros ────┘   + m parity shards each
 *
 * Zeros are never stored: a place of the last stripe that has no chunk is known to everybody.
 */
import type { Address } from '@cairn/wire'

/*
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

export interface StripeCode {
  readonly k: number
  readonly m: number
}

export interface StripedShape extends StripeCode {
  readonly size: number
  readonly chunkSize: number
}

/** One stripe of one object in one encoding of it. */
export interface StripeDescriptor extends StripeCode {
  readonly object: Address
  readonly stripe: number
  /** Shards of two generations never belong together; rebuilding a shard keeps it. */
  readonly generation: number
  /** The `k + m` shards by their hashes; nothing where the last stripe has no chunk. */
  readonly shards: readonly (Address | undefined)[]
  /** Bytes of each as it is stored; all are padded to the longest to be coded. */
  readonly sizes: readonly number[]
}

/** An object of less than one stripe is replicated: its parity would take as much room as copies. */
export function isStriped(size: number, chunkSize: number, { k }: StripeCode): boolean {
  return size >= k * chunkSize
}

export function chunkCount({ size, chunkSize }: StripedShape): number {
  return Math.ceil(size / chunkSize)
}

export function stripeCount(shape: StripedShape): number {
  return Math.ceil(chunkCount(shape) / shape.k)
}

/** Stored bytes of every shard of the stripe, data then parity. */
export function shardSizes(shape: StripedShape, stripe: number): number[] {
  const { k, m, size, chunkSize } = shape
  const sizeOf = (index: number): number => Math.max(0, Math.min(chunkSize, size - (stripe * k + index) * chunkSize))
  const data = Array.from({ length: k }, (_, index) => sizeOf(index))
  return [...data, ...Array.from({ length: m }, () => data[0] ?? 0)]
}

/** The length at which the shards are coded: that of the first, which is the longest. */
export function codedLength({ sizes }: Pick<StripeDescriptor, 'sizes'>): number {
  return sizes[0] ?? 0
}

export function padded(bytes: Uint8Array, length: number): Uint8Array {
  if (bytes.length === length) return bytes
  const room = new Uint8Array(length)
  room.set(bytes)
  return room
}
