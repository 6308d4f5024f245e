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
import type { Repaired, RepairPace, RepairQueue } from '../repair/repair-queue.ts'
import { decodeStripe } from './coding.ts'
import type { ShardDrives } from './shard-drives.ts'
import type { ShardTarget } from './shard-target.ts'
import { codedLength, planStripe, type StripeDescriptor, urgencyOf } from './stripe-core.ts'
import type { StripeMap } from './stripe-map.ts'
import { gatherShards } from './stripe-reader.ts'
import { packed } from './stripe-writer.ts'

/*
 * Which stripes lack shards, and their repairs in line: urgent ones, of which no more shards may go, in the lane that is
 * never turned away, the others behind the copies of replicated objects.
 *
 * A whole object is not looked at again until it is put again, or a drive goes, comes back, or is another one: what turns
 * out damaged is healed where it lies, by whoever read it.
 */

/** Objects that are remembered to be whole; past it they are looked at again in every round. */
const WHOLE_MAX = 100_000
/** Stripes of one repair. */
const BATCH_STRIPES = 16

/** What is left of an object: of the stripe of which the least is. */
export type ShardsLeft = 'whole' | 'parity' | 'urgent' | 'lost'

export interface StripeReport {
  readonly left: ShardsLeft
  /** Repairs there was room for. */
  readonly planned: number
}

export class StripePlanner {
  readonly #platform: Platform
  readonly #drives: ShardDrives
  readonly #repair: StripeRepair
  readonly #repairs: RepairQueue
  /** And the version they were of. */
  readonly #whole = new Map<Address, number>()
  #seen = ''

  constructor(platform: Platform, drives: ShardDrives, repair: StripeRepair, repairs: RepairQueue) {
    this.#platform = platform
    this.#drives = drives
    this.#repair = repair
    this.#repairs = repairs
  }

  async plan(object: Address, version: number): Promise<StripeReport> {
    const drives = this.#drives.all.map((drive) => `${drive.id} ${drive.health().tag}`).join(', ')
    if (drives !== this.#seen) this.#whole.clear()
    this.#seen = drives
    if (this.#whole.get(object) === version) return { left: 'whole', planned: 0 }
    const map = await this.#drives.find(object)
    if (map === undefined) return { left: 'whole', planned: 0 }
    let left: ShardsLeft = 'whole'
    let planned = 0
    let batch: StripeState[] = []
    const send = (): void => {
      if (batch.length > 0 && this.#send(map, batch)) planned += 1
      batch = []
    }
    for await (const state of this.#repair.survey(map)) {
      left = worse(left, state.urgency)
      if (state.urgency === 'lost') this.#warn(state)
      if (state.moves.length === 0) continue
      // Repairs of one kind go together: they share a sync for each drive.
      if (batch.length === BATCH_STRIPES || batch[0]?.urgency !== state.urgency) send()
      batch.push(state)
    }
    send()
    if (left === 'whole' && this.#whole.size < WHOLE_MAX) this.#whole.set(object, version)
    return { left, planned }
  }

  #send(map: StripeMap, states: readonly StripeState[]): boolean {
    const [first, last] = [states[0], states.at(-1)]
    const name = `stripes ${first?.descriptor.stripe} to ${last?.descriptor.stripe} of ${map.object}`
    const bytes = states.reduce((sum, { descriptor, moves }) => sum + codedLength(descriptor) * moves.length, 0)
    const run = async (pace: RepairPace): Promise<Repaired> => ({
      tag: 'repaired',
      bytes: await this.#repair.rebuild(map, states, pace),
    })
    return this.#repairs.send({ tag: 'work', name, bytes, run }, first?.urgency === 'urgent' ? 'urgent' : 'normal')
  }

  #warn({ descriptor: { object, stripe }, left, needed }: StripeState): void {
    const fields = { object: object.slice(0, 11), stripe, left, needed }
    this.#platform.log.error(fields, 'fewer shards of a stripe are left than it takes to read it')
  }
}

const WORSE: readonly ShardsLeft[] = ['whole', 'parity', 'urgent', 'lost']

function worse(a: ShardsLeft, b: ShardsLeft): ShardsLeft {
  return WORSE[Math.max(WORSE.indexOf(a), WORSE.indexOf(b))] ?? a
}

export interface StripeState {
  readonly descriptor: StripeDescriptor
  readonly urgency: 'whole' | 'lost' | 'urgent' | 'parity'
  readonly left: number
  readonly needed: number
  /** Shards that can be rebuilt, and where. */
  readonly moves: readonly { readonly shard: number; readonly home: ShardTarget }[]
}

/** Waits until so many bytes may be moved; they are, right after. */
export type RebuildPace = (bytes: number) => Promise<void>

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
  async rebuild(map: StripeMap, states: readonly StripeState[], pace: RebuildPace): Promise<number> {
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
  async heal(id: Address, home: ShardTarget, pace: RebuildPace): Promise<number | undefined> {
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
  async #remake(
    descriptor: StripeDescriptor,
    wanted: readonly number[],
    pace: RebuildPace,
  ): Promise<Map<number, Uint8Array>> {
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
