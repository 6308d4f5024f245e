/** A node that says what a test lets it say, with an interop and a registry behind one port. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { main } from '../src/main.ts'
import { Capture } from './capture.ts'
import type { Ran } from './processes.ts'

export interface Reply {
  readonly status: number
  readonly body: unknown
}

export class FakeNode implements AsyncDisposable {
  readonly directory: string
  /** By path, without the query; everything else is not found. */
  readonly replies = new Map<string, (query: URLSearchParams) => Reply>()
  services: readonly string[] = ['interop', 'registry', 'edge']
  readonly #awaited = new Map<string, () => void>()
  readonly #server: Server
  #url = ''

  private constructor(directory: string) {
    this.directory = directory
    this.#server = createServer((request, response) => {
      const { pathname, searchParams, search } = new URL(request.url ?? '', 'http://localhost')
      const path = decodeURIComponent(pathname)
      this.#awaited.get(`${request.method} ${path}${search}`)?.()
      const { status, body } = (this.replies.get(path) ?? notFound)(searchParams)
      const type = status >= 400 ? 'application/problem+json' : 'application/json'
      response.writeHead(status, { 'content-type': type })
      response.end(body instanceof Uint8Array ? body : body === undefined ? undefined : JSON.stringify(body))
    })
  }

  static async open(): Promise<FakeNode> {
    const node = new FakeNode(await mkdtemp(join(tmpdir(), 'cairn-stand-in-')))
    await new Promise<void>((resolve) => {
      node.#server.listen(0, '127.0.0.1', resolve)
    })
    node.#url = `http://127.0.0.1:${(node.#server.address() as AddressInfo).port}`
    node.replies.set('/version', () => ({ status: 200, body: { service: 'node' } }))
    node.replies.set('/admin/status', () => {
      const services = node.services.map((name) => ({ name, urls: [node.#url] }))
      return { status: 200, body: { services, elsewhere: [] } }
    })
    await writeFile(join(node.directory, 'token'), 'to.ken')
    return node
  }

  /** Resolves when this is asked, such as `GET /audit?limit=1`. */
  async whenAsked(line: string): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#awaited.set(line, resolve)
    })
  }

  /** What makes a command ask this node. */
  get flags(): readonly string[] {
    return ['--node', this.#url, '--token-file', join(this.directory, 'token')]
  }

  async run(...args: readonly string[]): Promise<Ran> {
    const terminal = new Capture()
    const code = await main([...args, ...this.flags], terminal)
    const masked = (text: string): string => text.replaceAll(this.#url, 'URL').replaceAll(this.directory, 'DIR')
    return { code, data: masked(terminal.data), words: masked(terminal.words) }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await rm(this.directory, { recursive: true })
  }
}

export function problem(status: number, code: string, detail: string): Reply {
  return { status, body: { type: 'x', title: 'x', status, detail, code, corr_id: 'c' } }
}

function notFound(): Reply {
  return problem(404, 'not_found', 'Nothing is known.')
}
