/**
 * A running DHT node: who is closest to a key, what a peer signed, whom we told. Importing this loads libp2p, which
 * takes longer than the rest of a node's start; `kad-routing.ts` does so on first use.
 */
import { Cancel, Deadline, sleep, throwIfCanceled } from '@cairn/kernel'
import type { Crypto } from '@cairn/platform'
import { abortable } from '@cairn/transport'
import { type Address, dhtKey, plainDhtKey } from '@cairn/wire'
import { peerIdFromString } from '@libp2p/peer-id'
import { multiaddr } from '@multiformats/multiaddr'
import { type DhtKey, type KadInternals, kadInternals, type PeerId, type PeerInfo } from './kad-internals.ts'
import { KadLookup } from './kad-lookup.ts'
import { type KadNode, type KadNodeDependencies, type KadNodeOptions, startKadNode } from './kad-node.ts'
import { askForRecords, PROVIDER_PROTOCOL, ProviderAnswerer } from './provider-protocol.ts'
import { noRoute, type RoutingPeer } from './provider-routing.ts'

export interface KadTableOptions extends Omit<KadNodeOptions, 'server'>, KadNodeDependencies {
  readonly crypto: Crypto
  /** Our answers to peers who ask what we signed about an object. */
  readonly records: (cid: Address, signal: AbortSignal) => Promise<readonly { readonly bytes: Uint8Array }[]>
}

/** Cairn's own table. In others, such as the public one of IPFS, this node only asks. */
export const KAD_PROTOCOL = '/cairn/kad/1.0.0'

const ANSWER_MS = 5_000
const ANSWERS_AT_ONCE_PER_PEER = 16
const BOOTSTRAP_DIAL_MS = 5_000
const EXPLORE_MS = 30_000
/** The library's own walks go on every five minutes. */
const EXPLORE_PAUSES_MS = [2_000, 10_000, 60_000] as const
const KEEP_CONNECTED = 'keep-alive-cairn-bootstrap'

export class KadTable {
  readonly #options: KadTableOptions
  readonly #node: KadNode
  readonly #internals: KadInternals
  readonly #stopping = new AbortController()
  #exploring: Promise<void> | undefined

  static async start(options: KadTableOptions): Promise<KadTable> {
    const server = options.protocol === KAD_PROTOCOL
    const node = await startKadNode({ ...options, server }, options)
    try {
      const table = new KadTable(options, node)
      await table.#serve()
      // A bootstrap peer that is down now is dialed again when a lookup needs a peer and none is known.
      table.#exploring = table.#explore().catch(ignore)
      return table
    } catch (error) {
      await node.stop()
      throw error
    }
  }

  private constructor(options: KadTableOptions, node: KadNode) {
    this.#options = options
    this.#node = node
    this.#internals = kadInternals(node.services.dht)
  }

  get id(): string {
    return this.#node.peerId.toString()
  }

  /** Where others reach this node, with its peer id. */
  addresses(): readonly string[] {
    return this.#node.getMultiaddrs().map((address) => address.toString())
  }

  get knownPeers(): number {
    return this.#internals.routingTable.size
  }

  lookup(cid: Address, count: number): KadLookup {
    const key = this.#keyOf(cid)
    const { routingTable } = this.#internals
    const kadId = this.#options.crypto.sha256(key.multihash.bytes)
    return new KadLookup(
      this.#internals,
      key,
      routingTable.closestPeers(kadId, { count: routingTable.kBucketSize }),
      count,
    )
  }

  /** Resolves once a peer is known; throws `no_route` where there is none to be had. */
  async join(signal: AbortSignal): Promise<void> {
    if (this.knownPeers > 0) return
    await this.#dialBootstrap(signal)
    const { routingTable } = this.#internals
    if (routingTable.size > 0) return
    const known = Promise.withResolvers<void>()
    routingTable.addEventListener('peer:add', known.resolve)
    try {
      await abortable(signal, known.promise)
    } finally {
      routingTable.removeEventListener('peer:add', known.resolve)
    }
  }

  /** What a peer signed about an object, unverified. */
  async askPeer(peer: PeerInfo, cid: Address, signal: AbortSignal): Promise<Uint8Array[]> {
    const id = peer.id.toString()
    const addresses = peer.multiaddrs.map((address) => {
      const text = address.toString()
      return multiaddr(text.includes('/p2p/') ? text : `${text}/p2p/${id}`)
    })
    const isConnected = this.#node.getConnections(peer.id).length > 0
    const target = isConnected || addresses.length === 0 ? peer.id : addresses
    const stream = await this.#node.dialProtocol(target, PROVIDER_PROTOCOL, { signal })
    return await askForRecords(stream, cid, signal)
  }

  /** The peer with the addresses we have for it. */
  async peerOf(id: PeerId, signal: AbortSignal): Promise<PeerInfo> {
    const known = await this.#node.peerStore.get(id, { signal }).catch(() => undefined)
    return { id, multiaddrs: known?.addresses.map(({ multiaddr: address }) => address) ?? [] }
  }

  /** Leaves a pointer to us at the peers closest to the object; resolves with how many took it. */
  async announce(cid: Address, signal: AbortSignal): Promise<number> {
    await this.join(signal)
    let told = 0
    for await (const event of this.#node.services.dht.provide(this.#keyOf(cid), { signal })) {
      if (event.name === 'PEER_RESPONSE' && event.messageName === 'ADD_PROVIDER') told += 1
    }
    return told
  }

  async retract(cid: Address): Promise<void> {
    await this.#node.services.dht.cancelReprovide(this.#keyOf(cid))
  }

  peers(): readonly RoutingPeer[] {
    const connected = new Map<string, string[]>()
    for (const { remotePeer, remoteAddr } of this.#node.getConnections()) {
      const id = remotePeer.toString()
      connected.set(id, [...(connected.get(id) ?? []), remoteAddr.toString()])
    }
    const { routingTable } = this.#internals
    const kadId = this.#options.crypto.sha256(this.#node.peerId.toMultihash().bytes)
    const known = routingTable.closestPeers(kadId, { count: routingTable.size }).map(String)
    return [
      ...Array.from(connected, ([id, addresses]) => ({ id, addresses, connected: true })),
      ...known.filter((id) => !connected.has(id)).map((id) => ({ id, addresses: [], connected: false })),
    ]
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#exploring
    await this.#node.stop()
  }

  #keyOf(cid: Address): DhtKey {
    return this.#options.protocol === KAD_PROTOCOL ? dhtKey(cid) : plainDhtKey(cid)
  }

  async #serve(): Promise<void> {
    const { clock, metrics, records } = this.#options
    const answerer = new ProviderAnswerer({
      clock,
      metrics,
      records: async (cid, signal) => (await records(cid, signal)).map(({ bytes }) => bytes),
    })
    this.#node.addEventListener('peer:disconnect', ({ detail }) => answerer.forget(detail.toString()))
    await this.#node.handle(
      PROVIDER_PROTOCOL,
      async (stream, { remotePeer }) => {
        using cancel = new Cancel({ signals: [this.#stopping.signal], deadline: Deadline.after(clock, ANSWER_MS) })
        await answerer.answer(stream, remotePeer.toString(), cancel.signal)
      },
      { maxInboundStreams: ANSWERS_AT_ONCE_PER_PEER },
    )
  }

  /**
   * Finds the neighbours of a new node: the library's own first walk ends after twenty events. A node that has met few,
   * because the others were new themselves or too busy to answer, looks again after a while.
   */
  async #explore(): Promise<void> {
    const { bootstrap, clock } = this.#options
    const { signal } = this.#stopping
    if (bootstrap.length === 0) return
    await this.join(signal)
    await this.#queryClosestPeers()
    for (const pauseMs of EXPLORE_PAUSES_MS) {
      await sleep(clock, pauseMs, { signal })
      if (this.knownPeers >= this.#options.bucketSize) return
      await this.#queryClosestPeers().catch(ignore)
    }
  }

  async #queryClosestPeers(): Promise<void> {
    const deadline = Deadline.after(this.#options.clock, EXPLORE_MS)
    using cancel = new Cancel({ signals: [this.#stopping.signal], deadline })
    const neighbours = this.#node.services.dht.getClosestPeers(this.#node.peerId.toMultihash().bytes, cancel)
    for await (const _event of neighbours);
  }

  async #dialBootstrap(signal: AbortSignal): Promise<void> {
    const { bootstrap, clock } = this.#options
    if (bootstrap.length === 0) {
      // A bootstrap node waits for the others: a peer may just have connected and not be in the table yet.
      if (this.#node.getConnections().length > 0) return
      throw noRoute('No DHT peer is known and none is configured to join by.')
    }
    using cancel = new Cancel({ signals: [signal], deadline: Deadline.after(clock, BOOTSTRAP_DIAL_MS) })
    const dials = bootstrap.map(async (text) => await this.#dialConfigured(text, cancel.signal))
    const outcomes = await Promise.allSettled(dials)
    throwIfCanceled(signal)
    const failed = outcomes.find((outcome) => outcome.status === 'rejected')
    if (failed !== undefined && outcomes.every(({ status }) => status === 'rejected')) {
      throw noRoute('No DHT peer is known and none of the configured ones can be reached.', failed.reason)
    }
  }

  async #dialConfigured(text: string, signal: AbortSignal): Promise<void> {
    const address = multiaddr(text)
    const id = address.getComponents().findLast(({ name }) => name === 'p2p')?.value
    await this.#node.dial(address, { signal })
    if (id === undefined) return
    await this.#node.peerStore.merge(peerIdFromString(id), { tags: { [KEEP_CONNECTED]: {} } }, { signal })
  }
}

function ignore(): void {}
