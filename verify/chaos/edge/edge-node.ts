/** A whole node with an edge, in this process or one of its own, told what to publish by the same commands people use. */
import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { type IncomingHttpHeaders, request } from 'node:http'
import { dirname, join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { SystemClock, sleep } from '@cairn/kernel'
import { main } from '../../../cli/src/main.ts'
import { Capture } from '../../../cli/test/capture.ts'
import { InnerNode } from '../../../cli/test/inner-node.ts'
import { firstLine, NODE_WAIT_MS, Workplace } from '../../../cli/test/processes.ts'

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

export interface Ask {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Asks a server on this machine; a `host` header may be any. A body that is broken off is an error. */
export async function ask(url: URL, { method = 'GET', headers = {} }: Ask = {}): Promise<Answer> {
  return await new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port: url.port, path: url.pathname + url.search, method, headers }
    const sent = request({ ...options, agent: false }, (response) => {
      buffer(response).then((body) => {
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body })
      }, reject)
    })
    sent.once('error', reject)
    sent.end()
  })
}

export class EdgeNode implements AsyncDisposable {
  readonly #workplace: Workplace
  #node: InnerNode | undefined
  #urls: Readonly<Record<string, readonly string[]>> = {}

  private constructor(workplace: Workplace) {
    this.#workplace = workplace
  }

  /** Ready, with this configuration, on free ports; all services unless some are named. */
  static async start(toml: string, services: readonly string[] = []): Promise<EdgeNode> {
    const chosen = services.length === 0 ? {} : { services: services.join(',') }
    return await EdgeNode.#made(toml, async (node) => {
      node.#node = await InnerNode.start({ data: node.path('data'), config: node.path('node.toml'), ...chosen })
      return node.#node.urls
    })
  }

  /** The same, with every service, in a process of its own: for who has to be served while this one is busy. */
  static async launch(toml: string): Promise<EdgeNode> {
    return await EdgeNode.#made(toml, async (node) => {
      const args = ['start', '--port-base', '0', '--config', node.path('node.toml'), '--data', node.path('data')]
      const child = node.#workplace.launch(args, { waitMs: NODE_WAIT_MS })
      // A pipe nobody reads fills up, and then its writer waits.
      child.stderr?.resume()
      return (JSON.parse(await firstLine(child)) as { urls: Record<string, string[]> }).urls
    })
  }

  static async #made(toml: string, start: (node: EdgeNode) => Promise<InnerNode['urls']>): Promise<EdgeNode> {
    const node = new EdgeNode(await Workplace.make())
    try {
      await writeFile(node.path('node.toml'), toml)
      node.#urls = await start(node)
    } catch (error) {
      await node[Symbol.asyncDispose]()
      throw error
    }
    return node
  }

  /** Another configuration from now on, of keys that need no restart. */
  async reconfigure(toml: string): Promise<void> {
    await writeFile(this.path('node.toml'), toml)
    await this.told('config', 'reload')
  }

  path(name: string): string {
    return join(this.#workplace.directory, name)
  }

  url(service: string, path = '/'): URL {
    return new URL(path, this.#urls[service]?.[0])
  }

  /** Writes files below a directory of this node's place. */
  async files(directory: string, contents: Readonly<Record<string, string | Uint8Array>>): Promise<string> {
    for (const [name, content] of Object.entries(contents)) {
      const file = this.path(join(directory, name))
      await mkdir(dirname(file), { recursive: true })
      await writeFile(file, content)
    }
    return this.path(directory)
  }

  /** Standard output of a command, which must succeed. */
  async told(...args: readonly string[]): Promise<string> {
    const terminal = new Capture({ environment: { HOME: this.#workplace.directory } })
    const code = await main([...args, '--data', this.path('data')], terminal)
    assert.equal(code, 0, `${args.join(' ')}: ${terminal.words}`)
    return terminal.data.trim()
  }

  /** Names an address by quorum. */
  async name(name: string, address: string): Promise<void> {
    const proposal = await this.told('name', 'propose', '-q', '--channel', name, address)
    await this.told('name', 'approve', '--yes', '-q', proposal)
    await this.told('name', 'commit', '-q', proposal)
  }

  /** Asks this edge; a path that starts with a slash is taken as it stands. */
  async get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return await ask(this.url('edge', path), { headers })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#node?.[Symbol.asyncDispose]()
    await this.#workplace[Symbol.asyncDispose]()
  }
}

/** Asks again until the answer is right: what one node learns of another takes a moment. */
export async function eventually(what: () => Promise<Answer>, isRight: (answer: Answer) => boolean): Promise<Answer> {
  const startedAt = performance.now()
  for (;;) {
    const answer = await what()
    if (isRight(answer)) return answer
    const { status, body } = answer
    assert.ok(performance.now() - startedAt < TIMEOUT_MS, `still ${status} ${body.toString().slice(0, 200)}`)
    await sleep(CLOCK, ASK_EVERY_MS)
  }
}

/** However busy the machine is. */
const TIMEOUT_MS = 60_000
/** Whoever asks without a pause takes the processor from who is to answer. */
const ASK_EVERY_MS = 20
const CLOCK = new SystemClock()
