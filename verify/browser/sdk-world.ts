/**
 * Where the SDK is tried: a real node, and in front of it somebody who tampers, breaks off, hangs, forges and refuses.
 *
 *     suite ─▶ /via/MODE/TRY/SERVICE/… ─▶ the service of the node, and back, spoiled as MODE says
 *        ├───▶ /seen/TRY                  what was asked in that try
 *        └───▶ /break/TRY/RANGE           what is breaking off may do so now
 *     page  ─▶ /, /modules/…              the SDK and the suite
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { EdgeNode, eventually } from '../chaos/edge/edge-node.ts'
import { importMap, moduleAt } from './sdk-modules.ts'
import { type Asked, BREAK_AT_BYTES, type World } from './sdk-suite.ts'

const NAME = 'page@1.0'
/** The byte of an object's answer that is another one. */
const TAMPERED_BYTE = 150_000

export class SdkWorld implements AsyncDisposable {
  readonly #server: Server
  readonly #asked = new Map<string, Asked[]>()
  /** Answers that break off once it is said that what came of them was read, by try and range. */
  readonly #breaking = new Map<string, ServerResponse>()
  /** Service, method and path of everything that was asked. */
  readonly requests = new Set<string>()
  #node: EdgeNode | undefined
  #world: World | undefined

  private constructor() {
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch((error: unknown) => response.destroy(error as Error))
    })
  }

  static async open(): Promise<SdkWorld> {
    const world = new SdkWorld()
    await new Promise<void>((resolve) => {
      world.#server.listen(0, '127.0.0.1', resolve)
    })
    await world.#startNode()
    return world
  }

  /** What the suite is told. */
  get world(): World {
    if (this.#world === undefined) throw new Error('The world is not open.')
    return this.#world
  }

  async #startNode(): Promise<void> {
    const origin = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
    const cors = ['storage', 'registry', 'index'].map(
      (service) => `[${service}.ingress.cors]\nallow_origins = ["${origin}"]`,
    )
    this.#node = await EdgeNode.launch(`[registry.pq]\nmode = "hybrid"\n${cors.join('\n')}\n`)
    const node = this.#node
    const manifest = await node.told('put', '-q', await node.files('site', { 'index.html': '<h1>Hello</h1>' }))
    await node.name(NAME, manifest)
    await eventually(
      async () => await node.get(`/edge/assets/n/${NAME}/`),
      ({ status }) => status === 200,
    )
    const direct = (service: string): string => node.url(service).href
    this.#world = {
      origin,
      direct: { storageUrl: direct('storage'), indexUrl: direct('index'), registryUrl: direct('registry') },
      token: await node.told('token', 'attenuate', '--ttl', '1h'),
      trust: await node.told('registry', 'trust'),
      name: NAME,
      manifest,
    }
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = new URL(request.url ?? '', this.world.origin).pathname
    const [, first, mode = '', attempt = '', service = ''] = path.split('/')
    if (first === 'via') {
      await this.#pass(request, response, { mode, attempt, service })
    } else if (first === 'seen') {
      response.end(JSON.stringify(this.#asked.get(mode) ?? []))
    } else if (first === 'break') {
      this.#breaking.get(`${mode}/${attempt}`)?.destroy()
      response.end()
    } else if (path === '/') {
      response.setHeader('content-type', 'text/html')
      response.end(`<!doctype html><title>SDK</title><script type="importmap">${await importMap()}</script>`)
    } else {
      const script = await moduleAt(path)
      response.writeHead(script === undefined ? 404 : 200, { 'content-type': 'text/javascript' }).end(script)
    }
  }

  async #pass(request: IncomingMessage, response: ServerResponse, via: Via): Promise<void> {
    const url = (request.url ?? '').split('/').slice(5).join('/')
    const asked: Asked = {
      method: request.method ?? '',
      path: `/${url}`,
      range: request.headers.range ?? null,
      left: false,
    }
    this.requests.add(`${via.service} ${asked.method} ${asked.path.replace(/\?.*/, '')}`)
    const earlier = this.#asked.get(via.attempt) ?? []
    this.#asked.set(via.attempt, [...earlier, asked])
    response.once('close', () => {
      asked.left = !response.writableEnded
    })
    const body = await buffer(request)
    if (via.mode === 'hanging') return
    if (via.mode === 'busy' && earlier.length === 0) {
      const problem = { type: 'about:blank', title: 'Busy', status: 503, detail: 'Later.', code: 'Busy', corr_id: 'x' }
      const headers = { 'content-type': 'application/problem+json', 'retry-after': '1' }
      response.writeHead(503, headers).end(JSON.stringify(problem))
      return
    }
    const answer = await this.#ask(request, body, via.service, url)
    const isObject = url.startsWith('o/')
    const dropped =
      via.mode === 'dropping' && isObject && earlier.filter(({ path }) => path.startsWith('/o/')).length < 2
    const bytes = spoiled(via.mode, isObject, Buffer.from(await answer.arrayBuffer()), this.world.manifest)
    const headers = Object.fromEntries([...answer.headers].filter(([name]) => !HOP_HEADERS.includes(name)))
    response.writeHead(answer.status, { ...headers, 'content-length': bytes.length })
    if (!dropped || bytes.length <= BREAK_AT_BYTES) {
      response.end(bytes)
      return
    }
    this.#breaking.set(`${via.attempt}/${asked.range}`, response)
    response.write(bytes.subarray(0, BREAK_AT_BYTES))
  }

  async #ask(request: IncomingMessage, body: Buffer, service: string, path: string): Promise<Response> {
    const names = ['authorization', 'content-type', 'range', 'x-corr-id']
    const headers = names.flatMap((name) => {
      const value = request.headers[name]
      return typeof value === 'string' ? [[name, value] as [string, string]] : []
    })
    return await fetch(this.#node?.url(service, `/${path}`) ?? '', {
      method: request.method ?? 'GET',
      headers,
      ...(body.length === 0 ? {} : { body: new Uint8Array(body) }),
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await this.#node?.[Symbol.asyncDispose]()
  }
}

interface Via {
  readonly mode: string
  readonly attempt: string
  readonly service: string
}

const HOP_HEADERS = ['connection', 'keep-alive', 'transfer-encoding', 'content-length', 'content-encoding']

function spoiled(mode: string, isObject: boolean, bytes: Buffer, manifest: string): Buffer {
  if (mode === 'tampered' && isObject && bytes.length > TAMPERED_BYTE)
    bytes[TAMPERED_BYTE] = (bytes[TAMPERED_BYTE] ?? 0) ^ 1
  // Everything that names the address names another one, so that the forgery agrees with itself.
  if (mode === 'forged')
    return Buffer.from(bytes.toString('latin1').replaceAll(manifest.slice(3), 'ab'.repeat(32)), 'latin1')
  return bytes
}
