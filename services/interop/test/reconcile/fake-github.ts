/** The two routes of GitHub's API that the reconciler uses, on loopback, with as many deliveries as a test wants. */
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Delivered {
  /** Larger than a number can say exactly. */
  readonly id: bigint
  readonly guid: string
  /** Unix milliseconds. */
  readonly at: number
  readonly status: number
}

export class FakeGithub implements AsyncDisposable {
  readonly #server: Server
  /** The newest first, as the API lists them. */
  deliveries: Delivered[] = []
  readonly asked: string[] = []
  readonly requests: string[] = []
  readonly tokens = new Set<string | undefined>()
  /** Headers that every answer has. */
  headers: Record<string, string> = {}
  /** Answers instead of the next ones. */
  readonly failures: { readonly status: number; readonly headers?: Record<string, string> }[] = []

  private constructor() {
    this.#server = createServer((request, response) => {
      const url = new URL(request.url ?? '/', 'http://api')
      this.requests.push(`${request.method} ${url.pathname}${url.search}`)
      this.tokens.add(request.headers.authorization)
      const failure = this.failures.shift()
      if (failure !== undefined) return response.writeHead(failure.status, failure.headers).end('{}')
      if (request.method === 'POST') {
        this.asked.push(/deliveries\/(\d+)\/attempts$/.exec(url.pathname)?.[1] ?? url.pathname)
        return response.writeHead(202, this.headers).end('{}')
      }
      const from = Number((url.searchParams.get('cursor') ?? 'v1_0').slice('v1_'.length))
      const size = Number(url.searchParams.get('per_page'))
      const next =
        from + size < this.deliveries.length ? `<${this.url}/ignored?cursor=v1_${from + size}>; rel="next"` : ''
      const rows = this.deliveries
        .slice(from, from + size)
        .map(
          ({ id, guid, at, status }) =>
            `{"id": ${id},"guid":"${guid}","delivered_at":"${new Date(at).toISOString()}","redelivery":false,"status":"${status === 202 ? 'OK' : 'failed'}","status_code":${status},"event":"push","action":null,"url":"\\"id\\": 7"}`,
        )
      const link: Record<string, string> = next === '' ? {} : { link: `<x>; rel="prev", ${next}` }
      return response
        .writeHead(200, { 'content-type': 'application/json', ...link, ...this.headers })
        .end(`[${rows.join(',')}]`)
    })
  }

  static async open(): Promise<FakeGithub> {
    const standIn = new FakeGithub()
    standIn.#server.listen(0, '127.0.0.1')
    await once(standIn.#server, 'listening')
    return standIn
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/api/v3`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }
}
