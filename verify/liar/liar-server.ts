/** A liar on a port of this machine, before a real node. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { setTimeout as wait } from 'node:timers/promises'
import type { PeerAnswer, PeerRequest } from './message.ts'
import { StorageLiar } from './storage-liar.ts'

/** Fields that are about one connection. */
const OWN_FIELDS: readonly string[] = [
  'connection',
  'keep-alive',
  'transfer-encoding',
  'content-length',
  'host',
  'expect',
]

export class LiarServer implements AsyncDisposable {
  readonly liar: StorageLiar
  readonly url: string
  readonly #server: Server

  private constructor(server: Server, liar: StorageLiar) {
    this.#server = server
    this.liar = liar
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }

  /** `behind` is the storage of the honest node, asked when it is first needed; `node` is what that node calls itself. */
  static async start(node: string, behind: () => string): Promise<LiarServer> {
    const liar = new StorageLiar(
      node,
      async (request) => await forward(behind(), request),
      async (ms) => await wait(ms),
    )
    const server = createServer((request, response) => {
      serve(liar, request, response).catch(() => response.destroy())
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new LiarServer(server, liar)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    this.#server.closeAllConnections()
    await closed
  }
}

async function serve(liar: StorageLiar, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method = 'GET', url = '/' } = request
  const body = await buffer(request)
  const answer = await liar.answer({ method, target: url, headers: fieldsOf(request), body })
  response.writeHead(answer.status, answer.headers)
  if (answer.body instanceof Uint8Array) response.end(answer.body)
  else await pipeline(Readable.from(answer.body), response)
}

async function forward(base: string, { method, target, headers, body }: PeerRequest): Promise<PeerAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const url = new URL(target, base)
  const outgoing = send(url, { method, headers: { ...headers, 'content-length': body.length }, agent: false }, resolve)
  outgoing.on('error', reject)
  outgoing.end(body)
  const response = await promise
  return { status: response.statusCode ?? 502, headers: fieldsOf(response), body: await buffer(response) }
}

function fieldsOf({ headers }: IncomingMessage): Record<string, string> {
  const fields = Object.entries(headers).filter(([name]) => !OWN_FIELDS.includes(name))
  return Object.fromEntries(fields.map(([name, value]) => [name, String(value)]))
}
