/** Servers of a case: upstreams, endpoints, whatever a node is to meet outside. */
import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'

export class TestServer implements AsyncDisposable {
  readonly url: string
  readonly #server: Server

  private constructor(server: Server) {
    const address = server.address()
    if (address === null || typeof address === 'string') throw new Error('The server listens nowhere.')
    this.#server = server
    this.url = `http://127.0.0.1:${address.port}`
  }

  static async start(listener: RequestListener): Promise<TestServer> {
    const server = createServer(listener)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new TestServer(server)
  }

  get host(): string {
    return new URL(this.url).host
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    this.#server.closeAllConnections()
    await closed
  }
}
