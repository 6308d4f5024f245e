/**
 * Providers by the DHT: libp2p with Kademlia, its table of pointers, and the signed records behind them.
 *
 *     legs ──▶ query, disjoint from the others ──▶ peers who say they provide
 *                                                    │ /cairn/provider/1, verified
 *     provide ──▶ pointers at the closest peers      ▼
 *                                                  onProvider
 */
import {
  CairnError,
  Cancel,
  Closeable,
  canceled,
  Deadline,
  isKind,
  type Runtime,
  Semaphore,
  throwIfCanceled,
  toCairnError,
} from '@cairn/kernel'
import type { Crypto } from '@cairn/platform'
import { abortable } from '@cairn/transport'
import type { Address } from '@cairn/wire'
import type { DialPolicy } from './dial-policy.ts'
import type { PeerInfo } from './kad-internals.ts'
import type { FoundPeer, KadLookup, LegPlan } from './kad-lookup.ts'
import type { KadTable } from './kad-table.ts'
import type { RecordState } from './metrics.ts'
import { urlFromMultiaddr } from './multiaddr-url.ts'
import {
  type FindOptions,
  noRoute,
  type ProviderRouting,
  type RoutingLeg,
  type RoutingPeer,
} from './provider-routing.ts'
import type { SignedProviderRecord } from './record.ts'
import type { RecordGate } from './record-gate.ts'

export interface KadRoutingOptions {
  /** The node identity's 32-byte seed: its key is the peer id. */
  readonly seed: Uint8Array
  readonly crypto: Crypto
  readonly gate: RecordGate
  /** Asked for every address, so that a reload takes hold at once. */
  readonly reach: () => DialPolicy
  /** Our answers to peers who ask what we signed about an object. */
  readonly records: (cid: Address, signal: AbortSignal) => Promise<readonly SignedProviderRecord[]>
  /** Multiaddrs to listen on: `/ip4/127.0.0.1/tcp/0`. */
  readonly listen: readonly string[]
  /** Multiaddrs to tell others instead of those listened on. */
  readonly announce?: readonly string[]
  /** Multiaddrs of the peers to join by, each with its `/p2p/`. */
  readonly bootstrap: readonly string[]
  /** `/cairn/kad/1.0.0` unless told. In any other table this node only asks and tells. */
  readonly protocol?: string
  /** `memory` for many nodes in one process; TCP unless told. */
  readonly transport?: 'tcp' | 'memory'
  /** Kademlia's k: 20 unless told. Smaller tables need more hops: a test of a small network is then one of a larger. */
  readonly bucketSize?: number
}

const BUCKET_SIZE = 20

/** Providers followed up for one leg; the table itself gives no more than this for a key. */
const FOLLOWED_MAX = 64
const FOLLOWED_AT_ONCE = 4
/** One peer that does not answer may not use up the whole budget of its leg: it has this, or its share of a longer one. */
const RECORD_FETCH_MS = 1_000
const ANNOUNCE_MS = 30_000
const ANNOUNCED_AT_ONCE = 4

export class KadRouting extends Closeable implements ProviderRouting {
  readonly name = 'kad'
  readonly announces = true
  readonly #runtime: Runtime
  readonly #options: KadRoutingOptions
  readonly #closing = new AbortController()
  #starting: Promise<KadTable> | undefined
  #table: KadTable | undefined

  constructor(runtime: Runtime, options: KadRoutingOptions) {
    super(runtime, 'kad routing')
    this.#runtime = runtime
    this.#options = options
  }

  /** Loads and starts the DHT node, once; where it listens. A start that failed is tried again by the next call. */
  async start(options: { readonly signal: AbortSignal }): Promise<readonly string[]> {
    return (await this.#started(options.signal)).addresses()
  }

  /** Resolves once there is a peer to ask; throws `no_route` where none is to be had. */
  async join({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    using cancel = new Cancel({ signals: [signal, this.#closing.signal] })
    await (await this.#started(cancel.signal)).join(cancel.signal)
  }

  /**
   * Before the node runs, one leg that starts it. Afterwards as many as there are peers to start at; the target of a
   * leg is the closest of them.
   */
  legs(cid: Address, count: number): readonly RoutingLeg[] {
    if (count < 1) return []
    const table = this.#table
    if (table === undefined || table.knownPeers === 0) return [this.#firstLeg()]
    const lookup = table.lookup(cid, count)
    return lookup.plans.map((plan) => ({
      target: targetOf(plan),
      knowledge: 'kad',
      find: async (_cid, options) => await this.#find(options, cid, () => ({ table, lookup, plan })),
    }))
  }

  async provide(records: readonly SignedProviderRecord[], { signal }: { readonly signal: AbortSignal }): Promise<void> {
    using cancel = new Cancel({ signals: [signal, this.#closing.signal] })
    const table = await this.#started(cancel.signal)
    const lanes = new Semaphore(ANNOUNCED_AT_ONCE)
    const announce = async ({ cid }: SignedProviderRecord): Promise<boolean> => {
      using _lane = await lanes.acquire({ signal: cancel.signal })
      return await this.#announce(table, cid, cancel.signal)
    }
    const told = await Promise.all(records.map(announce))
    const untold = told.filter((one) => !one).length
    if (untold > 0) throw noRoute(`${untold} of ${records.length} provider records could be told to no DHT peer.`)
  }

  async unprovide(cid: Address): Promise<void> {
    await this.#table?.retract(cid)
  }

  peers(): readonly RoutingPeer[] {
    return this.#table?.peers() ?? []
  }

  protected async release(): Promise<void> {
    this.#closing.abort(new CairnError('Canceled', 'The DHT node is closed.'))
    const table = await this.#starting?.catch(() => undefined)
    await table?.stop()
  }

  #firstLeg(): RoutingLeg {
    return {
      target: 'kad',
      knowledge: 'kad',
      find: async (cid, options) =>
        await this.#find(options, cid, async (signal) => {
          const table = await this.#started(signal)
          await table.join(signal)
          const lookup = table.lookup(cid, 1)
          return { table, lookup, plan: lookup.plans[0] ?? { leg: 0, start: [] } }
        }),
    }
  }

  async #started(signal: AbortSignal): Promise<KadTable> {
    throwIfCanceled(signal)
    if (this.closed) throw new CairnError('Canceled', 'The DHT node is closed.')
    this.#starting ??= this.#start()
    return await abortable(signal, this.#starting)
  }

  async #start(): Promise<KadTable> {
    const { transport = 'tcp', bucketSize = BUCKET_SIZE, protocol, ...options } = this.#options
    const { clock, metrics } = this.#runtime
    try {
      const { KAD_PROTOCOL, KadTable } = await import('./kad-table.ts')
      const kad = { ...options, clock, metrics, transport, bucketSize, protocol: protocol ?? KAD_PROTOCOL }
      this.#table = await KadTable.start(kad)
      return this.#table
    } catch (cause) {
      this.#starting = undefined
      throw noRoute(`The DHT node does not start: ${toCairnError(cause).message}`, cause)
    }
  }

  async #find(
    options: FindOptions,
    cid: Address,
    plan: (signal: AbortSignal) => Promise<PlannedLeg> | PlannedLeg,
  ): Promise<void> {
    const signals = [options.signal, this.#closing.signal]
    using cancel = new Cancel({ signals, deadline: options.deadline, operation: 'the DHT query' })
    const { signal } = cancel
    try {
      const follow = new FollowUp(this.#runtime, this.#options, cid, options, signal)
      await follow.run(await plan(signal))
    } catch (error) {
      if (signal.aborted) throw canceled(signal)
      throw error instanceof CairnError ? error : noRoute(`The DHT query failed: ${toCairnError(error).message}`, error)
    } finally {
      cancel.abort()
    }
  }

  async #announce(table: KadTable, cid: Address, signal: AbortSignal): Promise<boolean> {
    const { clock, metrics } = this.#runtime
    using cancel = new Cancel({ signals: [signal], deadline: Deadline.after(clock, ANNOUNCE_MS) })
    const told = await table.announce(cid, cancel.signal).catch(() => 0)
    throwIfCanceled(signal)
    metrics.count('provider_republish_total', { result: told > 0 ? 'ok' : 'failed' })
    return told > 0
  }
}

interface PlannedLeg {
  readonly table: KadTable
  readonly lookup: KadLookup
  readonly plan: LegPlan
}

/** Stable as long as the same peer is the closest: a breaker then stands for that peer. */
function targetOf({ start }: LegPlan): string {
  const [first] = start
  return first === undefined ? 'kad' : `kad:${first.toString()}`
}

/** One leg's query, and the records of every provider it names, fetched while it goes on. */
class FollowUp {
  readonly #runtime: Runtime
  readonly #options: KadRoutingOptions
  readonly #cid: Address
  readonly #find: FindOptions
  readonly #signal: AbortSignal
  readonly #lanes = new Semaphore(FOLLOWED_AT_ONCE)
  readonly #followed = new Set<string>()
  readonly #running: Promise<void>[] = []

  constructor(runtime: Runtime, options: KadRoutingOptions, cid: Address, find: FindOptions, signal: AbortSignal) {
    this.#runtime = runtime
    this.#options = options
    this.#cid = cid
    this.#find = find
    this.#signal = signal
  }

  async run({ table, lookup, plan }: PlannedLeg): Promise<void> {
    try {
      if (plan.leg === 0) {
        for (const id of await lookup.known(this.#signal)) {
          this.#follow(table, { peer: await table.peerOf(id, this.#signal), hops: 0 })
        }
      }
      await this.#walk(table, lookup, plan)
    } finally {
      await Promise.all(this.#running)
    }
    throwIfCanceled(this.#signal)
  }

  async #walk(table: KadTable, lookup: KadLookup, plan: LegPlan): Promise<void> {
    const walk = lookup.walk(plan, this.#signal)
    for (;;) {
      const step = await walk.next()
      if (step.done !== true) {
        this.#follow(table, step.value)
        continue
      }
      const { answered, failed } = step.value
      if (answered === 0 && failed > 0) throw noRoute('None of the DHT peers that were asked answered.')
      return
    }
  }

  #follow(table: KadTable, { peer, hops }: FoundPeer): void {
    const id = peer.id.toString()
    if (id === table.id || this.#followed.has(id) || this.#followed.size >= FOLLOWED_MAX) return
    this.#followed.add(id)
    this.#runtime.metrics.observe('dht_lookup_hops_histogram', hops, { op: 'find_providers' })
    this.#running.push(this.#fetch(table, peer))
  }

  /** Never throws: a provider that cannot be asked is one provider less. */
  async #fetch(table: KadTable, peer: PeerInfo): Promise<void> {
    try {
      using _lane = await this.#lanes.acquire({ signal: this.#signal })
      const { clock } = this.#runtime
      const shareMs = this.#find.deadline.remaining() / FOLLOWED_AT_ONCE
      const deadline = Deadline.after(clock, Math.max(RECORD_FETCH_MS, shareMs))
      using cancel = new Cancel({ signals: [this.#signal], deadline })
      const records = await table.askPeer(peer, this.#cid, cancel.signal)
      if (this.#signal.aborted) return
      if (records.length === 0) this.#unsigned(peer)
      for (const bytes of records) {
        const provider = this.#options.gate.admit(bytes, { cid: this.#cid })
        if (provider !== undefined) this.#find.onProvider(provider)
      }
    } catch (error) {
      this.#failed(peer, error)
    }
  }

  #failed(peer: PeerInfo, error: unknown): void {
    // The library's errors are told apart by name.
    const name = error instanceof Error ? error.name : ''
    if (name === 'UnsupportedProtocolError' && !this.#signal.aborted) this.#unsigned(peer)
    const state = refusalOf(name, error)
    if (state !== undefined) this.#runtime.metrics.count('provider_records_total', { state })
  }

  /** Reports a provider without a signed record; the caller decides whether that is enough. */
  #unsigned(peer: PeerInfo): void {
    const id = peer.id.toString()
    const urls = peer.multiaddrs.map((address) => urlFromMultiaddr(address.toString()))
    const http = urls.filter((url) => url !== undefined && this.#options.reach().allowsUrl(url, id))
    this.#find.onProvider({ id, http: http.filter((url) => url !== undefined), seenAtMs: this.#runtime.clock.wall() })
  }
}

/** Why nothing of an answer came in; undefined where there was none. */
function refusalOf(name: string, error: unknown): RecordState | undefined {
  if (name === 'DialDeniedError') return 'forbidden_address'
  if (isKind(error, 'TooLarge')) return 'oversized'
  return isKind(error, 'Malformed') ? 'malformed' : undefined
}
