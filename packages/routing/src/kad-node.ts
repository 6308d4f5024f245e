/**
 * The libp2p node behind `kad`: loaded with everything it needs on first use, because loading takes longer than the
 * rest of a node's start.
 */
import type { Clock, Metrics } from '@cairn/kernel'
import { generateKeyPairFromSeed } from '@libp2p/crypto/keys'
import { type Identify, identify } from '@libp2p/identify'
import { type KadDHT, kadDHT } from '@libp2p/kad-dht'
import { memory } from '@libp2p/memory'
import { noise } from '@libp2p/noise'
import { peerIdFromPrivateKey, peerIdFromString } from '@libp2p/peer-id'
import { type Ping, ping } from '@libp2p/ping'
import { tcp } from '@libp2p/tcp'
import { yamux } from '@libp2p/yamux'
import { type Multiaddr, multiaddr } from '@multiformats/multiaddr'
import { createLibp2p, type Libp2p, type Libp2pOptions } from 'libp2p'
import type { DialPolicy } from './dial-policy.ts'
import { KadDatastore } from './kad-datastore.ts'
import { RECORD_TTL_MS } from './record.ts'

export type KadServices = { dht: KadDHT; identify: Identify; ping: Ping }
export type KadNode = Libp2p<KadServices>

export interface KadNodeOptions {
  /** The node's 32-byte Ed25519 seed: its key is the peer id. */
  readonly seed: Uint8Array
  /** Multiaddrs to listen on; none for a node that only asks. */
  readonly listen: readonly string[]
  /** Multiaddrs to tell others instead of those listened on. */
  readonly announce?: readonly string[]
  /** Multiaddrs of the peers to join by, each with its `/p2p/`. */
  readonly bootstrap: readonly string[]
  readonly protocol: string
  /** Whether others may ask us: a table of our own kind. */
  readonly server: boolean
  /** `memory` for many nodes in one process. */
  readonly transport: 'tcp' | 'memory'
  /** Peers in a bucket of the table, closer peers in an answer, holders of a pointer: Kademlia's k. */
  readonly bucketSize: number
}

/** An hour beyond the records' life, for the library's own hourly sweep. */
const PEER_AGE_MS = RECORD_TTL_MS + 2 * 3_600_000
const SWEEP_MS = 900_000
/** So many connections in a second from one host; the library's 5 would let one machine start five processes. */
const INBOUND_PER_HOST_S = 20
/** Noise and yamux take some milliseconds each; many at once wait after the handshake, not before it. */
const PENDING_INBOUND_MAX = 100

/** What the node depends on. */
export interface KadNodeDependencies {
  readonly clock: Clock
  readonly metrics: Metrics
  readonly reach: () => DialPolicy
}

export async function startKadNode(options: KadNodeOptions, around: KadNodeDependencies): Promise<KadNode> {
  const { clock, metrics, reach } = around
  const privateKey = await generateKeyPairFromSeed('Ed25519', options.seed)
  const self = peerIdFromPrivateKey(privateKey).toString()
  const peerName = (id: string): string => peerIdFromString(id).toCID().toString()
  const gate = new AddressGate(options, reach)
  const isMemory = options.transport === 'memory'
  return await createLibp2p<KadServices>({
    privateKey,
    datastore: new KadDatastore({ clock, metrics, self, peerName }),
    addresses: { listen: [...options.listen], announce: [...(options.announce ?? [])] },
    transports: [isMemory ? memory() : tcp()],
    streamMuxers: [yamux()],
    connectionEncrypters: [noise()],
    connectionGater: { denyDialMultiaddr: (address) => !gate.allows(address) },
    connectionManager: {
      inboundConnectionThreshold: isMemory ? Number.MAX_SAFE_INTEGER : INBOUND_PER_HOST_S,
      maxIncomingPendingConnections: PENDING_INBOUND_MAX,
    },
    connectionMonitor: { enabled: !isMemory },
    peerStore: { maxAddressAge: PEER_AGE_MS, maxPeerAge: PEER_AGE_MS },
    services: { identify: identify(), ping: ping(), dht: kadDHT(dhtOptions(options, gate)) },
  } satisfies Libp2pOptions<KadServices>)
}

function dhtOptions({ protocol, server, bucketSize }: KadNodeOptions, gate: AddressGate): Parameters<typeof kadDHT>[0] {
  return {
    protocol,
    kBucketSize: bucketSize,
    clientMode: !server,
    // The library waits for the first peer by itself, and every `provide` waits for that.
    initialQuerySelfInterval: 1,
    // We provide again ourselves, at a steady rate; the library only sweeps what has expired.
    reprovide: { validity: RECORD_TTL_MS, threshold: 0, interval: SWEEP_MS },
    peerInfoMapper: (peer) => ({
      ...peer,
      multiaddrs: peer.multiaddrs.filter((address) => gate.allows(address, peer.id.toString())),
    }),
  }
}

/** Which of the addresses strangers name are dialled or passed on. */
class AddressGate {
  readonly #reach: () => DialPolicy
  readonly #isMemory: boolean
  /** Without their `/p2p/`. */
  readonly #configured: ReadonlySet<string>

  constructor({ bootstrap, transport }: KadNodeOptions, reach: () => DialPolicy) {
    this.#reach = reach
    this.#isMemory = transport === 'memory'
    this.#configured = new Set(bootstrap.map((text) => placeOf(multiaddr(text))))
  }

  allows(address: Multiaddr, peer = peerOf(address)): boolean {
    if (this.#configured.has(placeOf(address))) return true
    const reach = this.#reach()
    if (peer !== undefined && reach.trusts(peer)) return true
    const [host] = address.getComponents()
    if (host?.name === 'memory') return this.#isMemory
    // A name could mean any address by the time it is dialled; only configured ones are.
    if (host?.name !== 'ip4' && host?.name !== 'ip6') return false
    return host.value !== undefined && reach.allowsAddress(host.value)
  }
}

function placeOf(address: Multiaddr): string {
  return address.toString().replace(/\/p2p\/[^/]+$/, '')
}

function peerOf(address: Multiaddr): string | undefined {
  return address.getComponents().findLast(({ name }) => name === 'p2p')?.value
}
