/**
 * The parts of the DHT library that are no part of its public interface but that independent legs need: its public
 * `findProviders` always starts at the same peers. They are looked up by name and checked before use, so an upgrade
 * that moves them fails at the start and says so.
 *
 *     queryManager.run   walks the table from the closest peers it is given        ◀── we give each leg its own
 *     network            asks one peer one question
 *     routingTable       which peers are closest to a key
 *     providers          what others told us
 */
import { CairnError } from '@cairn/kernel'
import type { KadDHT, PeerResponseEvent, QueryEvent } from '@libp2p/kad-dht'
import type { KadNode } from './kad-node.ts'

export type PeerId = KadNode['peerId']
export type PeerInfo = PeerResponseEvent['providers'][number]
export type DhtKey = Parameters<KadDHT['provide']>[0]

interface QueryStep {
  readonly peer: PeerInfo
  readonly signal: AbortSignal
  readonly path: PeerResponseEvent['path']
}

export type QueryPeer = (step: QueryStep) => AsyncIterable<QueryEvent>

interface RoutingTable {
  readonly size: number
  readonly kBucketSize: number
  closestPeers(kadId: Uint8Array, options: { readonly count: number }): PeerId[]
  queueRoutingTableUpdate(peer: PeerId): void
  addEventListener(type: 'peer:add', listener: () => void): void
  removeEventListener(type: 'peer:add', listener: () => void): void
}

interface QueryManager {
  run(key: Uint8Array, ask: QueryPeer, options: { readonly signal: AbortSignal }): AsyncIterable<QueryEvent>
}

interface Network {
  sendRequest(
    to: PeerId,
    message: { readonly type: string; readonly key: Uint8Array },
    options: { readonly signal: AbortSignal; readonly path: QueryStep['path'] },
  ): AsyncIterable<QueryEvent>
}

interface Providers {
  getProviders(key: DhtKey, options: { readonly signal: AbortSignal }): Promise<PeerId[]>
}

export interface KadInternals {
  readonly routingTable: RoutingTable
  readonly queryManager: QueryManager
  readonly network: Network
  readonly providers: Providers
}

/** Throws `Internal` when the library is not the one this was written for. */
export function kadInternals(dht: KadDHT): KadInternals {
  if (isOurLibrary(dht)) return dht
  throw new CairnError('Internal', 'This version of @libp2p/kad-dht has other internals; use the one in package.json.')
}

function isOurLibrary(dht: unknown): dht is KadInternals {
  const methods = [
    ['routingTable', 'closestPeers'],
    ['routingTable', 'queueRoutingTableUpdate'],
    ['routingTable', 'addEventListener'],
    ['queryManager', 'run'],
    ['network', 'sendRequest'],
    ['providers', 'getProviders'],
  ] as const
  return methods.every(([part, method]) => typeof property(property(dht, part), method) === 'function')
}

function property(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined
  return Reflect.get(value, name)
}

/** A walk of the library's own, on one path, that begins at these peers and no others. */
export function queryFrom(internals: KadInternals, start: readonly PeerId[]): QueryManager {
  const { queryManager, routingTable } = internals
  const table = {
    size: start.length,
    kBucketSize: routingTable.kBucketSize,
    closestPeers: () => [...start],
    queueRoutingTableUpdate: (peer: PeerId) => routingTable.queueRoutingTableUpdate(peer),
  }
  const shadow: unknown = Object.create(queryManager, {
    routingTable: { value: table },
    disjointPaths: { value: 1 },
    // The query does not wait for the library's own first walk, nor for a peer where none was given.
    initialQuerySelfHasRun: { value: undefined, writable: true },
    allowQueryWithZeroPeers: { value: true },
  })
  if (isQueryManager(shadow)) return shadow
  throw new CairnError('Internal', 'A query of @libp2p/kad-dht lost its own methods.')
}

function isQueryManager(value: unknown): value is QueryManager {
  return typeof property(value, 'run') === 'function'
}
