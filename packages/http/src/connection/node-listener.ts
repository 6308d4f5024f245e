/**
 * A listening socket: TCP, TLS 1.3 or Unix. It owns the limits that belong to sockets; what the requests on them mean
 * is the ingress's.
 *
 *     open ──leave──▶ leaving: serves on, each answer closes its connection ──close──▶ closed
 */
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http'
import { createServer as createSecureServer, Server as SecureServer } from 'node:https'
import {
  createServer as createSocketServer,
  type ListenOptions,
  type Socket,
  type Server as SocketServer,
} from 'node:net'
import type { Duplex } from 'node:stream'
import { CairnError, Closeable, type Runtime } from '@cairn/kernel'
import { openFilesLimit } from '@cairn/platform'
import type { IngressConfig } from '../pipeline/config.ts'
import { NO_ROUTE } from '../pipeline/metrics.ts'
import { CorrelationIds } from '../request/correlation.ts'
import { problem } from '../response/message.ts'
import { Connections, connectionsShare, type HttpConnection } from './connections.ts'
import {
  type ListenAddress,
  type Listener,
  type ListenerOptions,
  refuseInsecurePublic,
  type TlsFiles,
} from './listener.ts'
import { closeToOthers, prepareSocketPath } from './listeners.ts'
import { type ExchangeHost, NodeExchange } from './node-exchange.ts'
import { checkIntervalMs, Pacer } from './pacer.ts'
import { PlainConnection, type PlainHost, TurnWriter } from './plain-connection.ts'
import { NodeResponse, ResponseHeads, type ResponseSink } from './response-sink.ts'

/** Connections the system keeps for us while the event loop is busy. */
const BACKLOG = 4096
/** Before the system asks a silent client for a sign of life. */
const KEEPALIVE_MS = 60_000
/** How long answers may take to reach their clients once the listener closes. */
const CLOSE_GRACE_MS = 1000
/** Longer than clients are told, so that a request they send at the last moment is still read. */
const IDLE_MARGIN_MS = 1000
/** A leaving listener goes when no connection has been open on it for this long. */
const QUIET_MS = 100

/** Opens the listener; resolves once it accepts. */
export async function serveNode(options: ListenerOptions): Promise<NodeListener> {
  const { address } = options
  refuseInsecurePublic(address, options.insecurePublic)
  if (address.kind === 'unix') await prepareSocketPath(address.path)
  const listener = new NodeListener(options)
  try {
    await listener.listen()
    if (address.kind === 'unix') await closeToOthers(address.path)
  } catch (error) {
    await listener.close()
    throw error
  }
  return listener
}

export class NodeListener extends Closeable implements Listener {
  readonly #options: ListenerOptions
  readonly #server: Server | SecureServer
  readonly #connections: Connections
  readonly #pacer: Pacer
  readonly #host: ExchangeHost
  /** Takes connections to ::1, for the same server. */
  #twin: SocketServer | undefined
  #isLeaving = false
  /** Tells a leaving listener that a connection came or went. */
  #onTraffic: (() => void) | undefined

  /** Use `serveNode`. */
  constructor(options: ListenerOptions) {
    const { runtime, config, address, listenerKind } = options
    super(runtime, `listener ${nameOf(address)}`)
    this.#options = options
    const kind = address.kind === 'unix' ? 'unix' : address.tls === undefined ? 'tcp' : 'tls'
    const openFilesMax = openFilesLimit()
    this.#connections = new Connections(runtime.metrics, kind, config, connectionsShare(openFilesMax))
    const { totalMax } = this.#connections
    if (totalMax < config.max_connections) {
      const facts = { max_connections: config.max_connections, lowered_to: totalMax, open_files: openFilesMax }
      runtime.log.warn(facts, 'fewer connections than configured: raise the hard limit of open files (ulimit -Hn)')
    }
    this.#pacer = new Pacer(runtime.clock, config)
    const isLeaving = (): boolean => this.#isLeaving
    this.#host = {
      clock: runtime.clock,
      metrics: runtime.metrics,
      log: runtime.log,
      pacer: this.#pacer,
      listenerKind,
      get isLeaving() {
        return isLeaving()
      },
    }
    this.#server = this.#createServer(address)
    this.reconfigure(config)
  }

  async listen(): Promise<void> {
    const { address, bothLoopbacks, runtime } = this.#options
    const where = address.kind === 'unix' ? { path: address.path } : { host: address.host, port: address.port }
    await bound(this.#server, where, nameOf(address))
    this.#server.on('error', (error: Error) => runtime.log.error({ error: error.message }, 'listener failed'))
    // A port that the system chose is told to the caller alone; no person types it.
    if (bothLoopbacks === true && address.kind === 'tcp' && address.host === '127.0.0.1' && address.port !== 0)
      this.#twin = await this.#listenTwin(address.port)
  }

  /** Nothing where this machine has no ::1: then `localhost` cannot mean it. */
  async #listenTwin(port: number): Promise<SocketServer | undefined> {
    const twin = createSocketServer((socket) => {
      this.#server.emit('connection', socket)
    })
    try {
      await bound(twin, { host: '::1', port, ipv6Only: true }, `[::1]:${port}`)
      return twin
    } catch (error) {
      const { cause } = error as CairnError
      if (cause instanceof Error && 'code' in cause && ABSENT.includes(String(cause.code))) return undefined
      throw error
    }
  }

  /** The port in use, the system's choice included; 0 on a Unix socket. */
  get port(): number {
    const address = this.#server.address()
    return typeof address === 'object' && address !== null ? address.port : 0
  }

  /** Where clients reach it: `http://127.0.0.1:7071`, `unix:/path`. */
  get url(): string {
    const { address } = this.#options
    if (address.kind === 'unix') return `unix:${address.path}`
    const host = address.host.includes(':') ? `[${address.host}]` : address.host
    return `${address.tls === undefined ? 'http' : 'https'}://${host}:${this.port}`
  }

  get address(): ListenAddress {
    return this.#options.address
  }

  get openConnections(): number {
    return this.#connections.size
  }

  /** New limits, for what comes from now on. */
  reconfigure(config: IngressConfig): void {
    this.#server.headersTimeout = config.header_timeout
    this.#server.keepAliveTimeout = config.idle_timeout
    this.#pacer.reconfigure(config)
    this.#connections.reconfigure(config)
  }

  /** A renewed certificate, for handshakes from now on. */
  renewTls(tls: TlsFiles): void {
    if (this.#server instanceof SecureServer) this.#server.setSecureContext({ ...tls, minVersion: 'TLSv1.3' })
  }

  /**
   * Serves on while clients find the way to another listener: every answer closes its connection. Resolves when
   * no connection has been open for a moment, or after `graceMs`.
   */
  async leave(graceMs: number): Promise<void> {
    this.#isLeaving = true
    const { clock } = this.#options.runtime
    await new Promise<void>((resolve) => {
      const end = (): void => {
        this.#onTraffic = undefined
        quiet?.cancel()
        grace.cancel()
        resolve()
      }
      const grace = clock.timer(graceMs, end)
      let quiet = this.#connections.size === 0 ? clock.timer(QUIET_MS, end) : undefined
      this.#onTraffic = () => {
        quiet?.cancel()
        quiet = this.#connections.size === 0 ? clock.timer(QUIET_MS, end) : undefined
      }
    })
  }

  /** Accepts no more; answers under way get a moment to reach their clients. */
  protected override async release(): Promise<void> {
    this.#isLeaving = true
    const { clock } = this.#options.runtime
    const grace = clock.timer(CLOSE_GRACE_MS, () => this.#connections.destroyAll())
    await new Promise<void>((resolve) => {
      this.#twin?.close()
      this.#server.close(() => resolve())
      for (const { socket, active } of this.#connections) if (active === 0) socket.destroy()
    })
    await new Promise<void>((resolve) => {
      // The server counts a socket as gone a moment before the socket says so itself.
      this.#onTraffic = () => {
        if (this.#connections.size === 0) resolve()
      }
      this.#onTraffic()
    })
    grace.cancel()
    this.#pacer.close()
  }

  #createServer(address: ListenAddress): Server | SecureServer {
    const { config, runtime } = this.#options
    const options: ServerOptions = {
      maxHeaderSize: config.max_header_bytes,
      connectionsCheckingInterval: checkIntervalMs(config.header_timeout),
      // The pipeline checks Host itself, and bodies are paced by the pacer, which knows who waits for whom.
      requireHostHeader: false,
      requestTimeout: 0,
      noDelay: true,
      // A client whose machine is gone is noticed also where nothing is sent for long: an event stream, a long poll.
      keepAlive: true,
      keepAliveInitialDelay: KEEPALIVE_MS,
      optimizeEmptyRequests: true,
    }
    const tls = address.kind === 'tcp' ? address.tls : undefined
    const server =
      tls === undefined
        ? createServer(options)
        : createSecureServer({ ...options, ...tls, minVersion: 'TLSv1.3', handshakeTimeout: config.header_timeout })
    // Fields past the library's default count would be dropped unseen; the size of the header bounds them.
    server.maxHeadersCount = 0
    this.#acceptConnections(server)
    if (server instanceof SecureServer) {
      server.on('secureConnection', (encrypted) => this.#connections.adopt(encrypted))
      server.on('tlsClientError', () => runtime.metrics.count('tls_handshake_failures_total'))
    }
    server.on('request', (message, response) => this.#serve(message, response, false))
    server.on('checkContinue', (message, response) => this.#serve(message, response, true))
    server.on('checkExpectation', (message, response) => this.#serve(message, response, false))
    server.on('clientError', (error: Error, socket) => this.#onBrokenMessage(error, socket))
    return server
  }

  #serve(message: IncomingMessage, response: ServerResponse, expectsContinue: boolean): void {
    const connection = this.#connections.find(message.socket)
    if (connection === undefined) {
      message.socket.destroy()
      return
    }
    const askForBody = (): void => {
      if (expectsContinue && !response.headersSent) response.writeContinue()
    }
    const sink = new NodeResponse(response)
    this.#answer(new NodeExchange(this.#host, connection, sink, { message, expectsContinue, askForBody }), sink)
  }

  #answer(exchange: NodeExchange, sink: ResponseSink): void {
    const answer = this.#options.ingress.answer(exchange)
    if (!(answer instanceof Promise)) {
      exchange.send(answer)
      return
    }
    exchange.keep()
    answer.then((late) => exchange.send(late)).catch(() => sink.destroy())
  }

  /** Connections without TLS begin as plain ones; the library's own listener takes over whatever is more than plain. */
  #acceptConnections(server: Server | SecureServer): void {
    const library = server.listeners('connection')
    const takeOver = (socket: Socket): void => {
      for (const listener of library) Reflect.apply(listener, server, [socket])
    }
    const host = this.#plainHost(server, takeOver)
    if (!(server instanceof SecureServer)) server.removeAllListeners('connection')
    server.on('connection', (socket: Socket) => {
      const connection = this.#connections.accept(socket, () => this.#onTraffic?.())
      this.#onTraffic?.()
      if (connection === undefined || server instanceof SecureServer) return
      if (connection.crowded) takeOver(socket)
      else new PlainConnection(host, connection).start()
    })
  }

  #plainHost(server: Server | SecureServer, takeOver: (socket: Socket) => void): PlainHost {
    const { runtime } = this.#options
    return {
      writer: new TurnWriter(),
      heads: new ResponseHeads(runtime.clock, () => server.keepAliveTimeout),
      get headerMs() {
        return server.headersTimeout
      },
      get idleMs() {
        return server.keepAliveTimeout + IDLE_MARGIN_MS
      },
      serve: (plain, head) => this.#answer(new NodeExchange(this.#host, plain.connection, plain, head), plain),
      silent: (connection) => this.#onBrokenMessage(silence(), connection.socket),
      handOver: (socket, bytes) => {
        takeOver(socket)
        socket.emit('data', bytes)
      },
    }
  }

  #onBrokenMessage(error: Error, socket: Duplex): void {
    const connection = this.#connections.find(socket)
    if (connection === undefined) socket.destroy()
    else answerBrokenMessage(this.#options.runtime, connection, socket, error)
  }
}

/** What the library says of a connection that does not say anything. */
function silence(): Error {
  return Object.assign(new Error('Nothing came.'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' })
}

function nameOf(address: ListenAddress): string {
  return address.kind === 'unix' ? address.path : `${address.host}:${address.port}`
}

/** What a machine without the address says. */
const ABSENT: readonly string[] = ['EADDRNOTAVAIL', 'EAFNOSUPPORT']

async function bound(server: SocketServer, where: ListenOptions, name: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const onError = (error: NodeJS.ErrnoException): void => reject(cannotListen(name, error))
    server.once('error', onError)
    server.listen({ ...where, backlog: BACKLOG }, () => {
      server.off('error', onError)
      resolve()
    })
  })
}

function cannotListen(where: string, error: NodeJS.ErrnoException): CairnError {
  const detail =
    error.code === 'EADDRINUSE'
      ? `${where} is in use by another program; stop it or choose another port.`
      : `Cannot listen on ${where}: ${error.message}.`
  return new CairnError('Conflict', detail, { code: 'cannot_listen', cause: error })
}

// What the parser could not read, or did not get in time, still gets an answer where one can be given.

/** For the client to read the answer before the connection goes. */
const LINGER_MS = 1000

/** Answers once, and closes; a connection that is in the middle of another answer is only closed. */
function answerBrokenMessage(runtime: Runtime, connection: HttpConnection, socket: Duplex, error: Error): void {
  if (connection.isLeaving) return
  connection.isLeaving = true
  const refusal = refusalOf('code' in error ? error.code : undefined)
  if (refusal === undefined || !socket.writable || connection.answering > 0) {
    socket.destroy()
    return
  }
  const corrId = new CorrelationIds(runtime).of(undefined)
  const { status, headers, body } = problem(refusal, corrId)
  const fields = [
    ...headers,
    'X-Corr-ID',
    corrId,
    'Content-Length',
    String(Buffer.byteLength(body)),
    'Connection',
    'close',
  ]
  const lines = fields.map((field, at) => (at % 2 === 0 ? `${field}: ` : `${field}\r\n`)).join('')
  runtime.metrics.count('http_requests_total', { route: NO_ROUTE, method: 'other', status: String(status) })
  runtime.metrics.count('rejected_total', { reason: refusal.code })
  if (refusal.kind === 'Timeout') runtime.metrics.count('io_timeouts_total', { op: 'read' })
  const timer = runtime.clock.timer(LINGER_MS, () => {
    socket.destroy()
  })
  socket.once('close', () => timer.cancel())
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines}\r\n${body}`)
}

function refusalOf(code: unknown): CairnError | undefined {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new CairnError('TooLarge', 'The header is larger than this service takes.', {
        code: 'header_cap',
        status: 431,
      })
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new CairnError('TooLarge', 'The chunk extensions are larger than this service takes.')
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new CairnError('Timeout', 'The header did not arrive in time.', { code: 'slow_header', status: 408 })
    case 'ECONNRESET':
    case 'EPIPE':
      return undefined
    default:
      return new CairnError('Malformed', 'This is not an HTTP/1.1 request.')
  }
}
