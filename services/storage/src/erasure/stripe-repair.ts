/**
 * Lost shards made anew.
 *
 *     every stripe of the object ─▶ who keeps which shard? ─▶ lost ones, each with a drive that keeps none of the stripe
 *     rebuild: any k shards ─▶ decoded, hashed ─▶ paced, written there ─▶ the drive's share of the object, synced
 *
 * A rebuilt shard belongs to the generation it was lost from: record and share say so, and nothing else changes.
 */
import { CairnError } from '@cairn/kernel'
import type { Platform } from '@cairn/platform'
import { type Address, digestOf } from '@cairn/wire'
import { decodeStripe } from './coding.ts'
import type { ShardDrives } from './shard-drives.ts'
import { planStripe, urgencyOf } from './shard-plan-core.ts'
import type { ShardTarget } from './shard-target.ts'
import { codedLength, type StripeDescriptor } from './stripe-core.ts'
import type { StripeMap } from './stripe-map.ts'
import { gatherShards } from './stripe-reader.ts'
import { packed } from './stripe-writer.ts'

export interface StripeState {
  readonly descriptor: StripeDescriptor
  readonly urgency: 'whole' | 'lost' | 'urgent' | 'parity'
  readonly left: number
  readonly needed: number
  /** Shards that can be rebuilt, and where. */
  readonly moves: readonly { readonly shard: number; readonly home: ShardTarget }[]
}

/** Waits until so many bytes may be moved; they are, right after. */
export type Pace = (bytes: number) => Promise<void>

export class StripeRepair {
  readonly #platform: Platform
  readonly #drives: ShardDrives

  constructor(platform: Platform, drives: ShardDrives) {
    this.#platform = platform
    this.#drives = drives
  }

  /** What is left of every stripe, in order. */
  async *survey(map: StripeMap): AsyncGenerator<StripeState> {
    for (let stripe = 0; stripe < map.stripeCount; stripe += 1) yield await this.#look(await map.stripe(stripe))
  }

  /** Rebuilds what a survey found lost of one stripe; returns the bytes written. */
  async rebuild(map: StripeMap, { descriptor, moves }: StripeState, pace: Pace): Promise<number> {
    if (moves.length === 0) return 0
    const wanted = moves.map(({ shard }) => shard)
    await pace(codedLength(descriptor) * descriptor.k)
    const { present } = await gatherShards(this.#drives, descriptor, wanted)
    const rebuilt = await decodeStripe(this.#platform, descriptor, present, wanted)
    let written = 0
    for (const { shard, home } of moves) {
      const bytes = rebuilt.get(shard)
      if (bytes === undefined) continue
      await pace(bytes.length)
      await this.#keep(map, home, bytes, descriptor.shards[shard])
      written += bytes.length
    }
    return written
  }

  /**
   * Puts a damaged or lost shard back on the drive that keeps it for some object; returns its bytes, or nothing if it is
   * no shard of a striped object.
   */
  async heal(id: Address, home: ShardTarget, pace: Pace): Promise<number | undefined> {
    for (const object of await home.referrers(id)) {
      const map = await this.#drives.find(object)
      const found = map === undefined ? undefined : await findShard(map, id)
      if (map === undefined || found === undefined) continue
      const { descriptor, shard } = found
      await pace(codedLength(descriptor) * descriptor.k)
      const { present } = await gatherShards(this.#drives, descriptor, [shard])
      const bytes = (await decodeStripe(this.#platform, descriptor, present, [shard])).get(shard)
      if (bytes === undefined) continue
      await pace(bytes.length)
      await this.#keep(map, home, bytes, id)
      return bytes.length
    }
    return undefined
  }

  async #look(descriptor: StripeDescriptor): Promise<StripeState> {
    const stored = descriptor.shards.flatMap((id, index) => (id === undefined ? [] : index))
    const kept = await this.#drives.kept(descriptor)
    const [first] = descriptor.shards
    const order = first === undefined ? [] : this.#drives.writable(first)
    const { left, lost } = planStripe(order, stored, kept)
    const needed = descriptor.k - (descriptor.shards.length - stored.length)
    const urgency = left === stored.length ? 'whole' : urgencyOf(left, needed)
    const moves = lost.flatMap(({ shard, home }) => (home === undefined ? [] : { shard, home }))
    return { descriptor, urgency, left, needed, moves: urgency === 'lost' ? [] : moves }
  }

  async #keep(map: StripeMap, home: ShardTarget, bytes: Uint8Array, id: Address | undefined): Promise<void> {
    if (id === undefined) throw new CairnError('Internal', 'A place without a chunk is never rebuilt.')
    const { object, generation, version } = map
    const { k, m } = map.shape
    const { size, type, chunkSize } = map.facts
    const upload = `repair ${object}`
    await home.put(bytes, upload)
    const manifest = await map.manifest()
    const stripes = { k, m, generation, parityIds: await map.parityIds(), share: packed([digestOf(id)]) }
    const owners = await this.#owners(object)
    await home.commit({ id: object, size, type, chunkSize, manifest, upload, owners, version, stripes })
  }

  /** Who holds the object: whoever keeps a share of it is held by the same. */
  async #owners(object: Address): Promise<readonly string[]> {
    const [first] = this.#drives.readable(object)
    return first === undefined ? [] : await first.owners(object)
  }
}

async function findShard(
  map: StripeMap,
  id: Address,
): Promise<{ readonly descriptor: StripeDescriptor; readonly shard: number } | undefined> {
  for (let stripe = 0; stripe < map.stripeCount; stripe += 1) {
    const descriptor = await map.stripe(stripe)
    const shard = descriptor.shards.indexOf(id)
    if (shard >= 0) return { descriptor, shard }
  }
  return undefined
}
