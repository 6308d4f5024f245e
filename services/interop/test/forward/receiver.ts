/** A receiver of forwards on loopback, which keeps what came and answers as it is told. */
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Received {
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

export type Answer = { readonly status: number; readonly headers?: Readonly<Record<string, string>> } | 'hang up'

export class Receiver implements AsyncDisposable {
  readonly #server: Server
  readonly received: Received[] = []

  private constructor(answers: readonly Answer[]) {
    const left = [...answers]
    this.#server = createServer((request, response) => {
      const parts: Buffer[] = []
      request.on('data', (part: Buffer) => parts.push(part))
      request.on('end', () => {
        this.received.push({ headers: request.headers, body: Buffer.concat(parts) })
        const answer = left.shift() ?? { status: 204 }
        if (answer === 'hang up') request.socket.destroy()
        else response.writeHead(answer.status, answer.headers).end(answer.status === 204 ? undefined : 'thanks')
      })
    })
  }

  static async open(...answers: readonly Answer[]): Promise<Receiver> {
    const receiver = new Receiver(answers)
    receiver.#server.listen(0, '127.0.0.1')
    await once(receiver.#server, 'listening')
    return receiver
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/hook?x=1`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }
}
