/**
 * One lookup in the DHT as several queries that never ask the same peer.
 *
 *     closest known peers   p1 p2 p3 p4 p5 p6 …
 *     dealt out to legs     1  2  3  1  2  3            each leg walks on from its own peers;
 *                                                       a peer belongs to the leg that came to it first
 *
 * A leg that is slow, dead or lied to costs the others nothing: this is the disjoint-path lookup of S/Kademlia, with
 * the paths started, timed and aborted one by one.
 */
import type { QueryEvent } from '@libp2p/kad-dht'
import { type DhtKey, type KadInternals, type PeerId, type PeerInfo, queryFrom } from './kad-internals.ts'

export interface LegPlan {
  readonly leg: number
  readonly start: readonly PeerId[]
}

export interface FoundPeer {
  readonly peer: PeerInfo
  /** Peers in a row that were asked until this one was named; 0 if we knew. */
  readonly hops: number
}

export class KadLookup {
  readonly #internals: KadInternals
  readonly #key: DhtKey
  /** Which leg a peer belongs to. */
  readonly #owner = new Map<string, number>()
  readonly plans: readonly LegPlan[]

  constructor(internals: KadInternals, key: DhtKey, closest: readonly PeerId[], count: number) {
    this.#internals = internals
    this.#key = key
    this.plans = dealt(closest, count)
    for (const { leg, start } of this.plans) {
      for (const peer of start) this.#owner.set(peer.toString(), leg)
    }
  }

  /** Returns the providers that others announced to this node, without a request. */
  async known(signal: AbortSignal): Promise<readonly PeerId[]> {
    return await this.#internals.providers.getProviders(this.#key, { signal })
  }

  /** Walks one leg and yields each provider once. Returns how many peers answered and how many did not. */
  async *walk({ leg, start }: LegPlan, signal: AbortSignal): AsyncGenerator<FoundPeer, Walked> {
    const hops = new Hops(start)
    const seen = new Set<string>()
    const walked = { answered: 0, failed: 0 }
    const key = this.#key.multihash.bytes
    const ask = (peer: PeerInfo, step: QueryStepOptions): AsyncIterable<QueryEvent> => this.#ask(leg, peer, step)
    const query = queryFrom(this.#internals, start)
    for await (const event of query.run(key, ({ peer, ...step }) => ask(peer, step), { signal })) {
      if (event.name === 'QUERY_ERROR') walked.failed += 1
      if (event.name !== 'PEER_RESPONSE') continue
      walked.answered += 1
      const asked = hops.answered(event.from, event.closer)
      for (const peer of event.providers) {
        const id = peer.id.toString()
        if (seen.has(id)) continue
        seen.add(id)
        yield { peer, hops: asked }
      }
    }
    return walked
  }

  async *#ask(leg: number, { id }: PeerInfo, step: QueryStepOptions): AsyncGenerator<QueryEvent> {
    const peer = id.toString()
    const owner = this.#owner.get(peer) ?? leg
    if (owner !== leg) return
    this.#owner.set(peer, leg)
    const question = { type: 'GET_PROVIDERS', key: this.#key.multihash.bytes }
    yield* this.#internals.network.sendRequest(id, question, step)
  }
}

export interface Walked {
  readonly answered: number
  readonly failed: number
}

type QueryStepOptions = Parameters<KadInternals['network']['sendRequest']>[2]

/** How far from us a peer is, counted in peers that had to be asked one after the other. */
class Hops {
  readonly #of = new Map<string, number>()

  constructor(start: readonly PeerId[]) {
    for (const peer of start) this.#of.set(peer.toString(), 1)
  }

  answered(from: PeerId, closer: readonly PeerInfo[]): number {
    const hops = this.#of.get(from.toString()) ?? 1
    for (const { id } of closer) {
      const peer = id.toString()
      if (!this.#of.has(peer)) this.#of.set(peer, hops + 1)
    }
    return hops
  }
}

/** The peers dealt out like cards, so that every leg has some of the closest; at least one leg, even without peers. */
function dealt(closest: readonly PeerId[], count: number): LegPlan[] {
  const legs = Math.min(count, Math.max(1, closest.length))
  return Array.from({ length: legs }, (_, leg) => ({ leg, start: closest.filter((_peer, at) => at % legs === leg) }))
}
