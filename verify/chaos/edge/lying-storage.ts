/** Stands before a storage and hands on what it says, with one byte of every chunk changed while it lies. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ask } from './edge-node.ts'

export class LyingStorage implements AsyncDisposable {
  readonly #server: Server
  /** Where the truth is; set once that is known. */
  behind: URL | undefined
  /** Chunks it changed. */
  lies = 0

  private constructor(server: Server) {
    this.#server = server
  }

  static async start(): Promise<LyingStorage> {
    const server = createServer((request, response) => {
      const answer = async (): Promise<void> => {
        const { status, headers, body } = await ask(new URL(request.url ?? '/', liar.behind))
        const isChunk = request.url?.startsWith('/c/') === true
        if (isChunk) {
          liar.lies += 1
          body[9] = (body[9] ?? 0) ^ 1
        }
        response.writeHead(status, { 'content-type': headers['content-type'] ?? 'text/plain' }).end(body)
      }
      answer().catch((error: unknown) => response.destroy(error instanceof Error ? error : undefined))
    })
    const liar = new LyingStorage(server)
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve)
    })
    return liar
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => {
      this.#server.close(resolve)
    })
  }
}
