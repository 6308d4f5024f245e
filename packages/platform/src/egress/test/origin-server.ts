import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, createServer as createTcpServer, type Socket, type Server as TcpServer } from 'node:net'
import type { SelfSigned } from './self-signed.ts'

/** A server on loopback for one test, which counts its connections and is gone with them at the end. */
export class OriginServer implements AsyncDisposable {
  readonly #server: Server | TcpServer
  readonly #sockets = new Set<Socket>()
  connections = 0

  private constructor(server: Server | TcpServer) {
    this.#server = server
    server.on('connection', (socket: Socket) => {
      this.connections += 1
      this.#sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => this.#sockets.delete(socket))
    })
  }

  static async http(handle: RequestListener, socketPath?: string): Promise<OriginServer> {
    return await OriginServer.#listen(createServer(handle), socketPath)
  }

  static async https(handle: RequestListener, identity: SelfSigned): Promise<OriginServer> {
    return await OriginServer.#listen(createTlsServer(identity, handle))
  }

  static async tcp(handle: (socket: Socket) => void): Promise<OriginServer> {
    return await OriginServer.#listen(createTcpServer(handle))
  }

  static async #listen(server: Server | TcpServer, socketPath?: string): Promise<OriginServer> {
    const origin = new OriginServer(server)
    if (socketPath === undefined) server.listen(0, '127.0.0.1')
    else server.listen(socketPath)
    await once(server, 'listening')
    return origin
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  url(path: string, protocol = 'http'): URL {
    return new URL(`${protocol}://127.0.0.1:${this.port}${path}`)
  }

  /** Waits until every connection is closed by the other side. */
  async quiet(): Promise<void> {
    for (const socket of this.#sockets) await once(socket, 'close')
  }

  /** Closes whatever is open and waits until it is. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
    await once(this.#server, 'close')
  }
}
