/**
 * How an object is cut into stripes. The code is systematic: data shards are the object's own chunks.
 *
 *     chunks    │ 0 │ 1 │ … │ k−1 ║ k │ k+1 │ … │ 2k−1 ║ … ║ n−1, shorter │  nothing  │ … │
 *     stripes   └──── stripe 0 ───╨──── stripe 1 ──────╨─…─╨─ last: padded with zeros ────┘   + m parity shards each
 *
 * Zeros are never stored: a place of the last stripe that has no chunk is known to everybody.
 */
import type { Address } from '@cairn/wire'

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
