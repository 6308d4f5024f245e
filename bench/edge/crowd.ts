/**
 * A crowd at a key nobody has yet. The origin waits until everybody is there, then answers; how long after the first
 * of the crowd the last has all of it is the figure: what it adds to have followed.
 */
import { createServer, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

const BODY = Buffer.alloc(10 * 1024, 7)
/** Long enough for every request to have been read. */
const GATHER_MS = 300

export class Crowd implements AsyncDisposable {
  readonly #server: Server
  readonly #waiting: ServerResponse[] = []
  #keys = 0
  /** Requests the origin got in the last run. */
  asked = 0

  private constructor(server: Server) {
    this.#server = server
  }

  static async open(): Promise<Crowd> {
    const server = createServer((_, response) => {
      crowd.asked += 1
      crowd.#waiting.push(response)
    })
    const crowd = new Crowd(server)
    await new Promise<void>((resolve) => {
      server.listen({ port: 0, host: '127.0.0.1', backlog: 1024 }, resolve)
    })
    return crowd
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Milliseconds from when the first client has all of it until the last does. */
  async run(base: string, clients: number): Promise<number> {
    this.asked = 0
    this.#keys += 1
    const path = `${new URL(base).pathname.replace(/\/$/, '')}/key-${this.#keys}`
    const ends = Array.from({ length: clients }, async () => await whenAnswered(base, path))
    await sleep(GATHER_MS)
    for (const response of this.#waiting.splice(0)) {
      response.writeHead(200, { 'Cache-Control': 'max-age=600', 'Content-Length': BODY.length })
      response.end(BODY)
    }
    const endedAt = await Promise.all(ends)
    return Math.max(...endedAt) - Math.min(...endedAt)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => {
      this.#server.close(resolve)
    })
  }
}

async function whenAnswered(base: string, path: string): Promise<number> {
  return await new Promise((resolve, reject) => {
    const socket = connect({ port: Number(new URL(base).port), host: '127.0.0.1' })
    let received = 0
    let head = ''
    socket.on('data', (bytes: Buffer) => {
      if (received === 0) head = bytes.toString('latin1', 0, 12)
      received += bytes.length
      if (received <= BODY.length) return
      if (head === 'HTTP/1.1 200') resolve(performance.now())
      else reject(new Error(`A client was answered ${head}.`))
      socket.destroy()
    })
    socket.on('error', reject)
    socket.on('end', () => reject(new Error(`A client was left with ${received} bytes.`)))
    socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`)
  })
}
