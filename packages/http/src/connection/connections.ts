/**
 * The connections of one listener, and who has to go when there are too many.
 *
 *     accept ─┬─ room ───────────────────────────────▶ served
 *             ├─ over the limit of its address ─┐
 *             ├─ over the total ─ oldest idle goes, else ─┤
 *             │                                 └──▶ crowded: answered 429 (or by an ops route), then closed
 *             └─ over a limit and its reserve ───────▶ closed at once
 */
import type { Socket } from 'node:net'
import type { Metrics } from '@cairn/kernel'
import type { Peer } from '@cairn/transport'
import type { IpBlock } from '@cairn/wire'
import type { IngressConfig } from '../pipeline/config.ts'
import { clientGroup, isTrusted, proxyBlocks } from '../request/client-address.ts'

/**
 * Connections past a limit that are still answered with the reason, and by which probes still get through. Of the second
 * reserve one address gets no more than of the first: a client that occupies all connections cannot take a probe's place.
 */
const ADDRESS_RESERVE = 16
const TOTAL_RESERVE = 64

/** Listeners a node of all services has, with its admin socket and some to spare. */
const LISTENERS = 8
/** Descriptors that are not for connections: segments, indexes, logs, threads; half of them where there are few. */
const FILES = 256
const CONNECTIONS_MIN = 4

/** What one listener may hold, reserve included, so that all of them together leave descriptors for files. */
export function connectionsShare(openFilesMax: number | undefined): number {
  if (openFilesMax === undefined) return Number.POSITIVE_INFINITY
  const forAll = openFilesMax - Math.min(FILES, Math.floor(openFilesMax / 2))
  return Math.max(CONNECTIONS_MIN, Math.floor(forAll / LISTENERS))
}

export class HttpConnection {
  readonly socket: Socket
  readonly peer: Peer
  /** Under whom it counts. */
  readonly group: string
  /** Came when there was no room for it. */
  readonly crowded: boolean
  /** Requests not yet over. */
  active = 0
  /** Of those, answers whose head has been sent. */
  answering = 0
  /** Its last answer has been given: it closes by itself in a moment, whatever else arrives on it. */
  isLeaving = false

  constructor(socket: Socket, peer: Peer, group: string, crowded: boolean) {
    this.socket = socket
    this.peer = peer
    this.group = group
    this.crowded = crowded
  }
}

type Limits = Pick<IngressConfig, 'max_connections' | 'max_connections_per_address' | 'trusted_proxies'>

export class Connections {
  readonly #metrics: Metrics
  readonly #kind: Peer['kind']
  readonly #share: number
  readonly #totalReserve: number
  #limits: Limits
  /** A proxy brings many clients: the limit of one address is not meant for it. */
  #proxies: readonly IpBlock[]
  /** In order of arrival, so that the first idle one found is the one that has been here longest. */
  readonly #all = new Set<HttpConnection>()
  readonly #bySocket = new Map<unknown, HttpConnection>()
  readonly #byAddress = new Map<string, number>()
  /** Of those, the ones that came when there was no room. */
  readonly #crowdedByAddress = new Map<string, number>()

  /** `share` is the most that this listener may hold, whatever the limits say. */
  constructor(metrics: Metrics, kind: Peer['kind'], limits: Limits, share = Number.POSITIVE_INFINITY) {
    this.#metrics = metrics
    this.#kind = kind
    this.#share = share
    this.#totalReserve = Math.min(TOTAL_RESERVE, Math.ceil(share / 4))
    this.#limits = limits
    this.#proxies = proxyBlocks(limits.trusted_proxies)
  }

  reconfigure(limits: Limits): void {
    this.#limits = limits
    this.#proxies = proxyBlocks(limits.trusted_proxies)
  }

  get size(): number {
    return this.#all.size
  }

  /** Connections at once: as configured, or what the descriptors of the process allow. */
  get totalMax(): number {
    return Math.min(this.#limits.max_connections, this.#share - this.#totalReserve)
  }

  /** Clients with a connection; none is remembered after its last. */
  get clients(): number {
    return this.#byAddress.size
  }

  find(socket: unknown): HttpConnection | undefined {
    return this.#bySocket.get(socket)
  }

  /** Takes the connection in, or destroys it. `onClosed` is called once it is gone. */
  accept(socket: Socket, onClosed: () => void): HttpConnection | undefined {
    const address = this.#kind === 'unix' ? '' : socket.remoteAddress
    if (address === undefined) {
      // It was reset before it was accepted: without an address it must not pass for a Unix socket's.
      socket.destroy()
      return undefined
    }
    const group = clientGroup(address)
    const fromAddress = (this.#byAddress.get(group) ?? 0) + 1
    const { totalMax } = this
    const { max_connections_per_address: addressMax } = this.#limits
    const isLimited = addressMax > 0 && this.#kind !== 'unix' && !isTrusted(address, this.#proxies)
    if (isLimited && fromAddress > addressMax + ADDRESS_RESERVE) return this.#refuse(socket, 'address')
    const isFull = this.#all.size >= totalMax && !this.#evictIdle()
    const isReserveFull = this.#all.size >= totalMax + this.#totalReserve || this.#crowdedOf(group) >= ADDRESS_RESERVE
    if (isFull && isReserveFull) return this.#refuse(socket, 'total')
    const crowded = isFull || (isLimited && fromAddress > addressMax)
    const connection = new HttpConnection(socket, { address, kind: this.#kind }, group, crowded)
    this.#all.add(connection)
    this.#bySocket.set(socket, connection)
    this.#byAddress.set(group, fromAddress)
    if (crowded) this.#crowdedByAddress.set(group, this.#crowdedOf(group) + 1)
    socket.once('close', () => {
      this.#forget(connection)
      onClosed()
    })
    return connection
  }

  /** The encrypted stream over an accepted socket stands for the same connection; both ends have the same names. */
  adopt(encrypted: Socket): void {
    for (const connection of this.#all) {
      const { remotePort, remoteAddress } = connection.socket
      if (remotePort !== encrypted.remotePort || remoteAddress !== encrypted.remoteAddress) continue
      this.#bySocket.set(encrypted, connection)
      encrypted.once('close', () => {
        this.#bySocket.delete(encrypted)
      })
      return
    }
    encrypted.destroy()
  }

  destroyAll(): void {
    for (const { socket } of this.#all) socket.destroy()
  }

  [Symbol.iterator](): Iterator<HttpConnection> {
    return this.#all.values()
  }

  #refuse(socket: Socket, reason: 'address' | 'total'): undefined {
    this.#metrics.count('connections_refused_total', { reason })
    socket.destroy()
  }

  #evictIdle(): boolean {
    for (const connection of this.#all) {
      if (connection.active > 0) continue
      this.#metrics.count('connections_refused_total', { reason: 'idle' })
      this.#forget(connection)
      connection.socket.destroy()
      return true
    }
    return false
  }

  #crowdedOf(group: string): number {
    return this.#crowdedByAddress.get(group) ?? 0
  }

  #forget({ socket, group, crowded }: HttpConnection): void {
    const connection = this.#bySocket.get(socket)
    if (connection === undefined) return
    this.#bySocket.delete(socket)
    this.#all.delete(connection)
    const left = (this.#byAddress.get(group) ?? 1) - 1
    if (left === 0) this.#byAddress.delete(group)
    else this.#byAddress.set(group, left)
    if (!crowded) return
    const crowdedLeft = this.#crowdedOf(group) - 1
    if (crowdedLeft === 0) this.#crowdedByAddress.delete(group)
    else this.#crowdedByAddress.set(group, crowdedLeft)
  }
}
