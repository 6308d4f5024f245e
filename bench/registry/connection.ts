/** One connection to a server, one question after another: the client costs as little as it can. */
import { connect, type Socket } from 'node:net'

export interface Answer {
  readonly status: number
  readonly body: string
}

export class Connection {
  readonly #socket: Socket
  readonly #token: string
  #text = ''
  #waiting: PromiseWithResolvers<Answer> | undefined

  constructor(url: string, token: string) {
    const { port } = new URL(url)
    this.#token = token
    this.#socket = connect({ port: Number(port), host: '127.0.0.1', noDelay: true })
    this.#socket.setEncoding('latin1')
    this.#socket.on('data', (piece: string) => this.#take(piece))
    this.#socket.on('error', (error) => this.#waiting?.reject(error))
    this.#socket.on('close', () => this.#waiting?.reject(new Error(`The connection ended: ${this.#text}`)))
  }

  async ask(method: 'GET' | 'POST', path: string, body = ''): Promise<Answer> {
    const waiting = Promise.withResolvers<Answer>()
    this.#waiting = waiting
    const type = body === '' ? '' : 'Content-Type: application/json\r\n'
    const length = method === 'POST' ? `Content-Length: ${Buffer.byteLength(body)}\r\n` : ''
    const head = `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${this.#token}\r\n${type}${length}\r\n`
    this.#socket.write(head + body)
    return await waiting.promise
  }

  /** The same, and what the answer must be. */
  async expect(status: number, method: 'GET' | 'POST', path: string, body?: string): Promise<string> {
    const answer = await this.ask(method, path, body)
    if (answer.status !== status) throw new Error(`${path} was answered ${answer.status} ${answer.body}`)
    return answer.body
  }

  end(): void {
    this.#waiting = undefined
    this.#socket.destroy()
  }

  #take(piece: string): void {
    this.#text += piece
    const end = this.#text.indexOf('\r\n\r\n')
    if (end < 0) return
    const length = Number(/\r\ncontent-length: (\d+)/i.exec(this.#text.slice(0, end))?.[1] ?? 0)
    const all = end + 4 + length
    if (this.#text.length < all) return
    const answer = { status: Number(this.#text.slice(9, 12)), body: this.#text.slice(end + 4, all) }
    this.#text = this.#text.slice(all)
    const waiting = this.#waiting
    this.#waiting = undefined
    waiting?.resolve(answer)
  }
}
