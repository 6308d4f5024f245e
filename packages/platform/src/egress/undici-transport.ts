import { Closeable, type Runtime } from '@cairn/kernel'
import { Agent, type Dispatcher, Pool } from 'undici'
import { exchange } from './exchange.ts'
import { type IncomingResponse, type OutgoingRequest, type Transport, unixSocketPath } from './transport.ts'

/** Connections kept to one target; more requests than this wait for one of them. */
const CONNECTIONS_MAX = 64
const CONNECT_TIMEOUT_MS = 5_000
const HEADER_BYTES_MAX = 16 * 1024

/** What every connection of ours has: no pipelining, no HTTP/2, no proxy from the environment. */
export const CONNECTION_OPTIONS = {
  allowH2: false,
  pipelining: 1,
  connections: CONNECTIONS_MAX,
  maxHeaderSize: HEADER_BYTES_MAX,
} as const

/** Requests to targets we were configured with, over TCP, TLS or Unix sockets. */
export class UndiciTransport extends Closeable implements Transport {
  readonly #agent = new Agent({ ...CONNECTION_OPTIONS, connect: { timeout: CONNECT_TIMEOUT_MS } })
  /** By socket path: configured targets, so few. */
  readonly #sockets = new Map<string, Pool>()

  constructor(runtime: Runtime) {
    super(runtime, 'transport')
  }

  async request(request: OutgoingRequest): Promise<IncomingResponse> {
    const socketPath = unixSocketPath(request.url)
    if (socketPath === undefined) return await exchange(this.#agent, request, request.url.origin)
    return await exchange(this.#socket(socketPath), request, UNIX_ORIGIN)
  }

  protected async release(): Promise<void> {
    await Promise.all([
      this.#agent.destroy(),
      ...Array.from(this.#sockets.values(), async (pool) => await pool.destroy()),
    ])
  }

  #socket(socketPath: string): Dispatcher {
    const open = this.#sockets.get(socketPath)
    if (open !== undefined) return open
    const pool = new Pool(UNIX_ORIGIN, { ...CONNECTION_OPTIONS, connect: { socketPath, timeout: CONNECT_TIMEOUT_MS } })
    this.#sockets.set(socketPath, pool)
    return pool
  }
}

/** A Unix socket has no host; this is the one every service answers to. */
const UNIX_ORIGIN = 'http://localhost'
