/** Whole nodes with the DHT switched on, each a process with its own directory; asked by the command line. */
import { writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { SystemClock, sleep } from '@cairn/kernel'
import { main } from '../../../cli/src/main.ts'
import { Capture } from '../../../cli/test/capture.ts'
import type { Home, RunningNode } from '../../../node/test/running-node.ts'

const CLOCK = new SystemClock()
const STEP_MS = 100
const TIMEOUT_MS = 30_000

export interface NodeOptions {
  /** Multiaddresses it joins by. */
  readonly bootstrap?: readonly string[]
  readonly allowLoopback?: boolean
  /** Where others are told to fetch from it. */
  readonly http?: readonly string[]
  /** Indexes it asks. */
  readonly endpoints?: readonly string[]
  /** Indexes it tells, with a file that holds a token of theirs. */
  readonly announceTo?: readonly { readonly url: string; readonly token_path: string }[]
}

export class WholeNode {
  readonly name: string
  readonly addresses: readonly string[]
  readonly index: string
  readonly #home: Home
  readonly #process: RunningNode

  static async start(home: Home, name: string, options: NodeOptions): Promise<WholeNode> {
    await writeFile(`${home.path}/${name}.toml`, configOf(options))
    const args = ['--port-base', '0', '--services', 'storage,index', '--data', name, '--config', `${name}.toml`]
    const running = home.start({ args })
    const { urls } = await running.ready()
    const { addresses } = await running.logged('in the DHT')
    return new WholeNode(home, name, running, addresses as readonly string[], urls['index']?.[0] ?? '')
  }

  private constructor(home: Home, name: string, running: RunningNode, addresses: readonly string[], index: string) {
    this.#home = home
    this.name = name
    this.#process = running
    this.addresses = addresses
    this.index = index
  }

  get dataPath(): string {
    return `${this.#home.path}/${this.name}`
  }

  /** A command of the command line; its standard output, or undefined where it says no. */
  async run(...args: readonly string[]): Promise<string | undefined> {
    const terminal = new Capture({ environment: { HOME: this.#home.path } })
    const code = await main([...args, '--data', this.dataPath], terminal)
    if (code !== 0 && code !== NOT_FOUND) throw new Error(`${args.join(' ')} on ${this.name}: ${terminal.words}`)
    return code === 0 ? terminal.data.trim() : undefined
  }

  /** Stores a text; its address. */
  async put(text: string): Promise<string> {
    const file = `${this.#home.path}/${this.name}.txt`
    await writeFile(file, text)
    const address = await this.run('put', '-q', file)
    if (address === undefined) throw new Error('Nothing was put.')
    return address
  }

  /** Who holds it, by `cairn providers`; nobody where none is known. */
  async providers(cid: string): Promise<readonly { readonly id: string; readonly http: readonly string[] }[]> {
    const answer = await this.run('providers', cid, '--json')
    if (answer === undefined) return []
    return (JSON.parse(answer) as { result: { providers: { id: string; http: string[] }[] } }).result.providers
  }

  /** Asks until somebody is known, because announcing takes its time; how long that took. */
  async found(cid: string) {
    const startedAt = CLOCK.now()
    for (;;) {
      const providers = await this.providers(cid)
      if (providers.length > 0) return { providers, ms: Math.round(CLOCK.now() - startedAt) }
      if (CLOCK.now() - startedAt > TIMEOUT_MS) throw new Error(`${this.name} finds nobody who holds ${cid}.`)
      await sleep(CLOCK, STEP_MS)
    }
  }

  async fetchIndex(path: string, init: RequestInit = {}): Promise<Response> {
    return await fetch(new URL(path, this.index), init)
  }

  /** A counter of its index; 0 before it counts. */
  async metric(line: string): Promise<number> {
    const text = await (await this.fetchIndex('/metrics')).text()
    const found = text.split('\n').find((each) => line.split(' ').every((part) => each.includes(part)))
    return found === undefined ? 0 : Number(found.split(' ').at(-1))
  }

  async kill(): Promise<void> {
    this.#process.kill()
    await this.#process.ended
  }
}

/** What `cairn` exits with where there is nothing. */
const NOT_FOUND = 3

function configOf({ bootstrap = [], allowLoopback = true, http = [], endpoints = [], announceTo = [] }: NodeOptions) {
  const to = announceTo.map(({ url, token_path: path }) => `{ url = "${url}", token_path = "${path}" }`).join(', ')
  return [
    '[index.dht]',
    'kad = true',
    `allow_loopback = ${allowLoopback}`,
    `bootstrap = ${JSON.stringify(bootstrap)}`,
    `endpoints = ${JSON.stringify(endpoints)}`,
    '[index.announce]',
    `http = ${JSON.stringify(http)}`,
    `to = [${to}]`,
    '',
  ].join('\n')
}

/** A host on loopback that counts who comes, and says yes to everything. */
export class Trap implements AsyncDisposable {
  readonly #server: Server
  readonly asked: string[] = []
  connections = 0

  static async open(): Promise<Trap> {
    const trap = new Trap()
    await new Promise<void>((resolve) => {
      trap.#server.listen(0, '127.0.0.1', resolve)
    })
    return trap
  }

  private constructor() {
    this.#server = createServer((request, response) => {
      this.asked.push(`${request.method} ${request.url}`)
      response.writeHead(200).end()
    })
    this.#server.on('connection', () => {
      this.connections += 1
    })
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
