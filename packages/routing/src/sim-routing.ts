/**
 * A network of peers that exists only in the seed: each answers after its latency, fails, or is never heard of again,
 * as the random says. On a virtual clock the same seed gives the same lookup, to the millisecond.
 */
import { CairnError, Cancel, type Clock, type Random, sleep } from '@cairn/kernel'
import type { Address } from '@cairn/wire'
import {
  type FindOptions,
  noRoute,
  type Provider,
  type ProviderRouting,
  type RoutingLeg,
  type RoutingPeer,
} from './provider-routing.ts'
import type { SignedProviderRecord } from './record.ts'
import { providerOf } from './record-gate.ts'

export interface SimPeer {
  readonly name: string
  /** Until its answer, for each question. */
  readonly latencyMs: number
  /** Up to so much more, drawn for each question. */
  readonly jitterMs?: number
  /** How often it answers with an error, 0 to 1. */
  readonly failure?: number
  /** How often a question is lost, 0 to 1: nothing comes back until the asker gives up. */
  readonly loss?: number
  /** What it knows without being told; asked for each question. */
  readonly knows?: (cid: Address) => readonly Provider[]
}

export class SimRouting implements ProviderRouting {
  readonly name = 'sim'
  readonly announces = true
  readonly #clock: Clock
  readonly #random: Random
  readonly #peers: readonly SimPeer[]
  /** What peers received: every peer receives everything, the lost records aside. */
  readonly #told = new Map<Address, Map<string, SignedProviderRecord>>()
  /** Questions each peer was asked, for tests. */
  readonly asked = new Map<string, number>()

  constructor({ clock, random }: { readonly clock: Clock; readonly random: Random }, peers: readonly SimPeer[]) {
    this.#clock = clock
    this.#random = random
    this.#peers = peers
  }

  legs(_cid: Address, count: number): readonly RoutingLeg[] {
    return this.#peers.slice(0, Math.max(0, count)).map((peer) => ({
      target: `sim:${peer.name}`,
      knowledge: `sim:${peer.name}`,
      find: async (cid, options) => await this.#find(peer, cid, options),
    }))
  }

  async provide(records: readonly SignedProviderRecord[], { signal }: { readonly signal: AbortSignal }): Promise<void> {
    if (this.#peers.length === 0) throw noRoute('There is no peer to tell.')
    // The slowest peer decides when every peer has the record.
    await sleep(this.#clock, Math.max(...this.#peers.map(({ latencyMs }) => latencyMs)), { signal })
    for (const record of records) {
      const about = this.#told.get(record.cid) ?? new Map<string, SignedProviderRecord>()
      this.#told.set(record.cid, about.set(record.publisher, record))
    }
  }

  async unprovide(cid: Address): Promise<void> {
    await sleep(this.#clock, 0)
    this.#told.delete(cid)
  }

  peers(): readonly RoutingPeer[] {
    return this.#peers.map(({ name }) => ({ id: name, addresses: [], connected: true }))
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  async #find(peer: SimPeer, cid: Address, { deadline, signal, onProvider }: FindOptions): Promise<void> {
    this.asked.set(peer.name, (this.asked.get(peer.name) ?? 0) + 1)
    using cancel = new Cancel({ signals: [signal], deadline, operation: `the answer of ${peer.name}` })
    const isLost = this.#random.next() < (peer.loss ?? 0)
    const fails = this.#random.next() < (peer.failure ?? 0)
    const delayMs = peer.latencyMs + this.#random.next() * (peer.jitterMs ?? 0)
    await sleep(this.#clock, isLost ? Number.MAX_SAFE_INTEGER : delayMs, { signal: cancel.signal })
    if (fails) throw new CairnError('Timeout', `${peer.name} failed.`, { code: 'unreachable', status: 502 })
    const wallMs = this.#clock.wall()
    for (const record of this.#told.get(cid)?.values() ?? []) {
      if (record.exp * 1000 > wallMs) onProvider(providerOf(record, wallMs))
    }
    for (const provider of peer.knows?.(cid) ?? []) onProvider(provider)
  }
}
