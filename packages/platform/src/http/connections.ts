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
import type { IpBlock } from '@cairn/wire'
import { clientGroup, isTrusted, proxyBlocks } from './client-address.ts'
import type { IngressConfig } from './config.ts'
import type { Peer } from './message.ts'

/** Connections past a limit that are still told why, and by which probes still get through. */
const ADDRESS_RESERVE = 16
const TOTAL_RESERVE = 64

export class Connection {
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
  #limits: Limits
  /** A proxy brings many clients: the limit of one address is not meant for it. */
  #proxies: readonly IpBlock[]
  /** In order of arrival, so that the first idle one found is the one that has been here longest. */
  readonly #all = new Set<Connection>()
  readonly #bySocket = new Map<unknown, Connection>()
  readonly #byAddress = new Map<string, number>()

  constructor(metrics: Metrics, kind: Peer['kind'], limits: Limits) {
    this.#metrics = metrics
    this.#kind = kind
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

  /** Clients with a connection; none is remembered after its last. */
  get clients(): number {
    return this.#byAddress.size
  }

  find(socket: unknown): Connection | undefined {
    return this.#bySocket.get(socket)
  }

  /** Takes the connection in, or destroys it. `onClosed` is called once it is gone. */
  accept(socket: Socket, onClosed: () => void): Connection | undefined {
    const address = this.#kind === 'unix' ? '' : socket.remoteAddress
    if (address === undefined) {
      // Gone before it was here: nobody knows whose it was, and it must not pass for a Unix socket's.
      socket.destroy()
      return undefined
    }
    const group = clientGroup(address)
    const fromAddress = (this.#byAddress.get(group) ?? 0) + 1
    const { max_connections: totalMax, max_connections_per_address: addressMax } = this.#limits
    const isLimited = addressMax > 0 && this.#kind !== 'unix' && !isTrusted(address, this.#proxies)
    if (isLimited && fromAddress > addressMax + ADDRESS_RESERVE) return this.#refuse(socket, 'address')
    const isFull = this.#all.size >= totalMax && !this.#evictIdle()
    if (isFull && this.#all.size >= totalMax + TOTAL_RESERVE) return this.#refuse(socket, 'total')
    const crowded = isFull || (isLimited && fromAddress > addressMax)
    const connection = new Connection(socket, { address, kind: this.#kind }, group, crowded)
    this.#all.add(connection)
    this.#bySocket.set(socket, connection)
    this.#byAddress.set(group, fromAddress)
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

  [Symbol.iterator](): Iterator<Connection> {
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

  #forget({ socket, group }: Connection): void {
    const connection = this.#bySocket.get(socket)
    if (connection === undefined) return
    this.#bySocket.delete(socket)
    this.#all.delete(connection)
    const left = (this.#byAddress.get(group) ?? 1) - 1
    if (left === 0) this.#byAddress.delete(group)
    else this.#byAddress.set(group, left)
  }
}
