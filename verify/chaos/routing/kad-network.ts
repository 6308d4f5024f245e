/**
 * Many real DHT nodes in one process, over libp2p's memory transport: what they hold is looked up from everywhere,
 * a part of them dies, and everything the living hold is looked up again.
 */
import { Deadline, SystemClock, sleep } from '@cairn/kernel'
import { SeededRandom } from '@cairn/kernel/testing'
import type { Address } from '@cairn/wire'
import type { KadRouting } from '../../../packages/routing/src/kad-routing.ts'
import { addressNamed, Peer } from '../../../packages/routing/test/peer.ts'

export interface Member {
  readonly peer: Peer
  readonly kad: KadRouting
}

export interface Searched {
  readonly tried: number
  readonly found: number
  /** Peers in a row that were asked until the holder was named, for each object found. */
  readonly hops: readonly number[]
  readonly ms: readonly number[]
}

const CLOCK = new SystemClock()
const FOREVER = { signal: new AbortController().signal }
const LEGS = 3
const FIND_MS = 10_000
/** Until every node knows some others besides those it joined by; one that does not by then takes part as it is. */
const KNOWN_MIN = 5
const SETTLE_MS = 20_000
/** A table of small buckets needs more hops, and a hundred nodes fit a test. */
const BUCKET_SIZE = 8
const SETTLE_STEP_MS = 20
const CLOSE_MS = 30_000

export class KadNetwork implements AsyncDisposable {
  readonly #random: SeededRandom
  readonly #first: number
  readonly #holdings = new Map<Address, Member>()
  members: Member[] = []

  /** `first` is the number of the first peer: networks of one process share the memory transport. */
  constructor(seed: number, first: number) {
    this.#random = new SeededRandom(seed)
    this.#first = first
  }

  /** Each node joins by two that were there before it. */
  async grow(count: number): Promise<void> {
    const addresses: string[] = []
    for (let at = 0; at < count; at += 1) {
      const known = at === 0 ? [] : [addresses[0], addresses[this.#below(at)]].filter((one) => one !== undefined)
      const peer = new Peer({ number: this.#first + at })
      const kad = peer.kad({ bootstrap: [...new Set(known)], bucketSize: BUCKET_SIZE })
      this.members.push({ peer, kad })
      addresses.push(...(await kad.start(FOREVER)))
    }
    const known = Math.min(KNOWN_MIN, count - 1)
    const until = Deadline.after(CLOCK, SETTLE_MS)
    for (const { kad } of this.members) {
      while (kad.peers().length < known && !until.expired) await sleep(CLOCK, SETTLE_STEP_MS)
    }
  }

  /** Objects of members drawn at random, told to the network. */
  async provide(count: number): Promise<void> {
    for (let at = 0; at < count; at += 1) {
      const holder = this.#draw()
      const cid = addressNamed(`object ${at} of network ${this.#first}`)
      await holder.kad.provide([holder.peer.hold(cid)], FOREVER)
      this.#holdings.set(cid, holder)
    }
  }

  /** Looks up every object of the living, each from `askers` members drawn at random. */
  async search(askers: number): Promise<Searched> {
    const searched = { tried: 0, found: 0, hops: [] as number[], ms: [] as number[] }
    for (const [cid, holder] of this.#holdings) {
      if (!this.members.includes(holder)) continue
      for (let at = 0; at < askers; at += 1) {
        const asker = this.#draw()
        if (asker === holder) continue
        searched.tried += 1
        const found = await this.#find(asker, cid, holder)
        if (found === undefined) continue
        searched.found += 1
        searched.hops.push(found.hops)
        searched.ms.push(found.ms)
      }
    }
    return searched
  }

  /** That share of the members is gone at once, without a word to the others. */
  async kill(share: number): Promise<number> {
    const dead = new Set<Member>()
    while (dead.size < Math.floor(this.members.length * share)) dead.add(this.#draw())
    this.members = this.members.filter((member) => !dead.has(member))
    await closeAll(dead)
    return dead.size
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await closeAll(this.members)
  }

  async #find({ kad, peer }: Member, cid: Address, holder: Member): Promise<{ hops: number; ms: number } | undefined> {
    const { clock } = peer.runtime
    const began = clock.now()
    const enough = new AbortController()
    const before = peer.metrics.hops.length
    let ms: number | undefined
    const legs = kad.legs(cid, LEGS).map(async (leg) => {
      const deadline = Deadline.after(clock, FIND_MS)
      await leg.find(cid, {
        deadline,
        signal: enough.signal,
        onProvider: ({ id, record }) => {
          if (id !== holder.peer.signer.publisher || record === undefined) return
          ms ??= clock.now() - began
          enough.abort()
        },
      })
    })
    await Promise.allSettled(legs)
    const hops = peer.metrics.hops[before]
    return ms === undefined || hops === undefined ? undefined : { hops, ms }
  }

  #draw(): Member {
    const member = this.members[this.#below(this.members.length)]
    if (member === undefined) throw new Error('Nobody is left.')
    return member
  }

  #below(bound: number): number {
    return Math.floor(this.#random.next() * bound)
  }
}

/** The memory transport keeps no process alive, and the library's own timeouts do not either. */
async function closeAll(members: Iterable<Member>): Promise<void> {
  const awake = CLOCK.timer(CLOSE_MS, () => {})
  await Promise.all(Array.from(members, async ({ kad }) => await kad.close()))
  awake.cancel()
}

/** The value that this share of the values does not exceed. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}

/** One line for people. */
export function tell(label: string, { tried, found, hops, ms }: Searched): string {
  const times = `${Math.round(percentile(ms, 0.5))}/${Math.round(percentile(ms, 0.99))} ms`
  return `${label}: ${found} of ${tried} found, hops p50/p99/max ${percentile(hops, 0.5)}/${percentile(hops, 0.99)}/${Math.max(0, ...hops)}, p50/p99 ${times}`
}
