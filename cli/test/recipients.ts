/** Servers that keep what they are sent, to see who is shown a token. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Answer {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

export class Listener implements AsyncDisposable {
  readonly port: number
  readonly #server: Server
  readonly #heard: string[]

  private constructor(server: Server, heard: string[]) {
    this.#server = server
    this.#heard = heard
    this.port = (server.address() as AddressInfo).port
  }

  /** On every address of this machine, so that it can be named in more than one way. */
  static async open(answer: (request: IncomingMessage) => Answer): Promise<Listener> {
    const heard: string[] = []
    const server = createServer((request, response) => {
      const { method, url, rawHeaders } = request
      heard.push(`${method} ${url}\n${rawHeaders.join('\n')}`)
      request.on('data', (piece: Buffer) => heard.push(piece.toString('latin1')))
      const { status, headers = {}, body = '' } = answer(request)
      response.writeHead(status, { 'content-type': 'application/json', ...headers })
      response.end(body)
    })
    server.listen(0, '0.0.0.0')
    await once(server, 'listening')
    return new Listener(server, heard)
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`
  }

  /** How often it was asked. */
  get asked(): number {
    return this.#heard.length
  }

  /** The first message with this text in it. */
  with(text: string): string | undefined {
    return this.#heard.find((message) => message.includes(text))
  }

  forget(): void {
    this.#heard.length = 0
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }
}
