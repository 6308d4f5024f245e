/**
 * Lost shards made anew.
 *
 *     every stripe of the object ─▶ who keeps which shard? ─▶ lost ones, each with a drive that keeps none of the stripe
 *     rebuild: any k shards ─▶ decoded, hashed ─▶ paced, written there ─▶ … ─▶ the drive's share of the object, synced
 *
 * A rebuilt shard belongs to the generation it was lost from: record and share say so, and nothing else changes.
 */
import type { Platform } from '@cairn/platform'
import { type Address, digestOf } from '@cairn/wire'
import { decodeStripe } from './coding.ts'
import type { ShardDrives } from './shard-drives.ts'
import { planStripe, urgencyOf } from './shard-plan-core.ts'
import type { ShardTarget } from './shard-target.ts'
import type { StripeDescriptor } from './stripe-core.ts'
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

  /** Rebuilds what a survey found lost of some stripes; returns the bytes written. */
  async rebuild(map: StripeMap, states: readonly StripeState[], pace: Pace): Promise<number> {
    const shares = new Map<ShardTarget, Address[]>()
    const upload = `repair ${map.object}`
    let written = 0
    for (const { descriptor, moves } of states) {
      if (moves.length === 0) continue
      const wanted = moves.map(({ shard }) => shard)
      const rebuilt = await this.#remake(descriptor, wanted, pace)
      for (const { shard, home } of moves) {
        const [bytes, id] = [rebuilt.get(shard), descriptor.shards[shard]]
        if (bytes === undefined || id === undefined) continue
        await pace(bytes.length)
        await home.write([bytes], upload)
        shares.set(home, [...(shares.get(home) ?? []), id])
        written += bytes.length
      }
    }
    // What was written becomes durable with the share that names it: until then nobody counts it.
    for (const [home, ids] of shares) await this.#commitShare(map, home, ids, upload)
    return written
  }

  /**
   * Puts a damaged or lost shard back on the drive that keeps it for some object, or writes the drive's list of its
   * shards anew; returns the bytes, or nothing if it belongs to no striped object.
   */
  async heal(id: Address, home: ShardTarget, pace: Pace): Promise<number | undefined> {
    for (const object of await home.referrers(id)) {
      const map = await this.#drives.find(object)
      if (map === undefined) continue
      const place = await map.find(id)
      if (place === undefined) return await this.#renewShare(map, home)
      const [descriptor, shard] = [await map.stripe(place.stripe), place.shard]
      const bytes = (await this.#remake(descriptor, [shard], pace)).get(shard)
      if (bytes === undefined) continue
      await pace(bytes.length)
      await home.put(bytes, `repair ${object}`)
      return bytes.length
    }
    return undefined
  }

  /** The list of what a drive keeps of an object is on no other drive; but what it keeps can be seen. */
  async #renewShare(map: StripeMap, home: ShardTarget): Promise<number> {
    const kept: Address[] = []
    for (let stripe = 0; stripe < map.stripeCount; stripe += 1) {
      const ids = (await map.stripe(stripe)).shards.flatMap((id) => id ?? [])
      const keeps = await home.keeps(map.object, ids)
      kept.push(...ids.filter((_, at) => keeps[at]))
    }
    await this.#commitShare(map, home, kept, `repair ${map.object}`)
    return 0
  }

  /** These shards, decoded out of others and hashed; each that is read is paced by itself. */
  async #remake(descriptor: StripeDescriptor, wanted: readonly number[], pace: Pace): Promise<Map<number, Uint8Array>> {
    const { present } = await gatherShards(this.#drives, descriptor, wanted, pace)
    return await decodeStripe(this.#platform, descriptor, present, wanted)
  }

  async #look(descriptor: StripeDescriptor): Promise<StripeState> {
    const stored = descriptor.shards.flatMap((id, index) => (id === undefined ? [] : index))
    const kept = await this.#drives.kept(descriptor)
    const [first] = descriptor.shards
    const order = first === undefined ? [] : this.#drives.writable(first)
    const { left, lost } = planStripe(order, stored, kept)
    const needed = descriptor.k - (descriptor.shards.length - stored.length)
    const urgency = this.#urgency(descriptor, left, needed)
    const moves = lost.flatMap(({ shard, home }) => (home === undefined ? [] : { shard, home }))
    return { descriptor, urgency, left, needed, moves: urgency === 'lost' ? [] : moves }
  }

  /** Of a put that was cut off all shards are there, though most drives do not keep them for the object yet. */
  #urgency(descriptor: StripeDescriptor, left: number, needed: number): StripeState['urgency'] {
    if (left === needed + descriptor.m) return 'whole'
    const urgency = urgencyOf(left, needed)
    return urgency === 'lost' && this.#drives.count(descriptor) >= needed ? 'urgent' : urgency
  }

  async #commitShare(map: StripeMap, home: ShardTarget, ids: readonly Address[], upload: string): Promise<void> {
    const { object: id, generation, version } = map
    const { k, m } = map.shape
    const { size, type, chunkSize } = map.facts
    const manifest = await map.manifest()
    const share = packed(ids.map((each) => digestOf(each)))
    const stripes = { k, m, generation, parityIds: await map.parityIds(), share }
    const owners = await this.#owners(id)
    await home.commit({ id, size, type, chunkSize, manifest, upload, owners, version, stripes })
  }

  /** Who holds the object: whoever keeps a share of it is held by the same. */
  async #owners(object: Address): Promise<readonly string[]> {
    const owners = await Promise.all(this.#drives.readable(object).map(async (drive) => await drive.owners(object)))
    return [...new Set(owners.flat())]
  }
}
