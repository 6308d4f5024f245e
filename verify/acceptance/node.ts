/** One real node: a child process of the tree under test, reached by HTTP, its command line, signals and files. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { Agent, request as httpRequest, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { buffer, text } from 'node:stream/consumers'
import { freePorts } from '@cairn/platform/testing'

/** One for each service, and one for the node itself. */
const PORTS = 7
/** Of what a node says, the latest: a case that fails prints it. */
const OUTPUT_KEPT = 1 << 20

/** The largest body that is taken without `?stream`, at the defaults. */
const UNSTREAMED_MAX = 1 << 20

export type Service = 'node' | 'storage' | 'index' | 'registry' | 'edge' | 'interop'

export interface NodeOptions {
  /** The text of `cairn.toml`; without it the node runs at its shipped defaults, with no file at all. */
  readonly config?: string
  /** More arguments of `cairn start`. */
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** An existing data directory; by default a new one below the world's. */
  readonly data?: string
  /** Another checkout than the one under test. */
  readonly tree?: string
  /** The first of its ports; by default some that are free. */
  readonly portBase?: number
  /** What runs the launcher; by default the Node that runs the cases. */
  readonly program?: string
}

export interface Place {
  /** A directory of its own, where it is started. */
  readonly directory: string
  readonly tree: string
  readonly env: Readonly<Record<string, string>>
}

export interface RequestOptions {
  readonly method?: string
  readonly headers?: OutgoingHttpHeaders
  readonly body?: string | Uint8Array | Readable
  readonly signal?: AbortSignal
  /** Sends the data directory's own `admin.token`. */
  readonly admin?: boolean
  /** Its connections are kept; by default each request has one of its own. */
  readonly agent?: Agent
}

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

export interface Ran {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly out: string
  readonly err: string
}

export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

type Urls = Readonly<Record<Service, string>>

interface ReadyEvent {
  readonly pid: number
  readonly urls: Readonly<Record<string, readonly string[]>>
}

/** It ended, and was never ready. */
export class StartFailed extends Error {
  readonly ended: Ended
  readonly output: string

  constructor(ended: Ended, output: string) {
    super(`The node did not start (${String(ended.code ?? ended.signal)}):\n${output}`)
    this.ended = ended
    this.output = output
  }
}

/** What a child process says and how it ends. Its process group is its own, so that all of it can be killed. */
class Child {
  readonly process: ChildProcess
  readonly exited: Promise<Ended>
  #output = ''

  constructor(program: string, args: readonly string[], cwd: string, env: NodeJS.ProcessEnv) {
    this.process = spawn(program, args, { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
    this.exited = new Promise((resolve, reject) => {
      this.process.once('error', reject)
      this.process.once('close', (code, signal) => {
        resolve({ code, signal })
      })
    })
    // Without anybody waiting yet; who waits is told the same.
    this.exited.catch(() => {})
    // A pipe that is not read fills up, and then its writer waits.
    for (const stream of [this.process.stdout, this.process.stderr])
      stream?.setEncoding('utf8').on('data', (part: string) => {
        this.#output = `${this.#output}${part}`.slice(-OUTPUT_KEPT)
      })
  }

  get output(): string {
    return this.#output
  }

  get hasEnded(): boolean {
    return this.process.exitCode !== null || this.process.signalCode !== null
  }

  killGroup(): void {
    if (this.process.pid === undefined) return
    try {
      process.kill(-this.process.pid, 'SIGKILL')
    } catch {
      // All of it has ended.
    }
  }
}

export class RunningNode implements AsyncDisposable {
  readonly data: string
  readonly portBase: number
  readonly #place: Place
  readonly #options: NodeOptions
  #child: Child
  #ready: ReadyEvent = { pid: 0, urls: {} }
  #earlier = ''

  private constructor(place: Place, options: NodeOptions, portBase: number) {
    this.#place = options.tree === undefined ? place : { ...place, tree: options.tree }
    this.#options = options
    this.portBase = portBase
    this.data = options.data ?? join(place.directory, '.cairn')
    this.#child = this.#launch()
  }

  /** Starts one and returns once it says that it is ready; throws `StartFailed` if it ends before. */
  static async start(place: Place, options: NodeOptions = {}): Promise<RunningNode> {
    const node = await RunningNode.launch(place, options)
    await node.ready()
    return node
  }

  /** Starts one without waiting for it: to look at a node that is not ready, or never will be. */
  static async launch(place: Place, options: NodeOptions = {}): Promise<RunningNode> {
    await mkdir(place.directory, { recursive: true })
    if (options.config !== undefined) await writeFile(join(place.directory, 'cairn.toml'), options.config)
    return new RunningNode(place, options, options.portBase ?? (await freePorts(PORTS)))
  }

  #launch(): Child {
    const { args = [], config, program = process.execPath } = this.#options
    const configArgs = config === undefined ? [] : ['--config', join(this.#place.directory, 'cairn.toml')]
    const start = ['start', '--data', this.data, '--port-base', String(this.portBase), ...configArgs, ...args]
    return new Child(program, [this.#launcher, ...start], this.#place.directory, this.#environment)
  }

  get #launcher(): string {
    return join(this.#place.tree, 'cli/bin/cairn.js')
  }

  get #environment(): Record<string, string> {
    const home = { PATH: process.env['PATH'] ?? '', HOME: this.#place.directory }
    return { ...home, ...this.#place.env, ...this.#options.env }
  }

  /** Waits for the ready event, which is the only line on its standard output. */
  async ready(): Promise<void> {
    const child = this.#child
    const isReady = (): boolean => /^\{"event":"ready".*\}$/m.test(child.output)
    await new Promise<void>((resolve, reject) => {
      const look = (): void => {
        if (isReady()) resolve()
      }
      child.process.stdout?.on('data', look)
      child.exited.then((ended) => {
        reject(new StartFailed(ended, child.output))
      }, reject)
      look()
    })
    const [line = '{}'] = /^\{"event":"ready".*\}$/m.exec(child.output) ?? []
    this.#ready = JSON.parse(line) as ReadyEvent
  }

  /** Of the process that serves; the launcher may be another. */
  get pid(): number {
    return this.#ready.pid || (this.#child.process.pid ?? 0)
  }

  /** The first address of each service. */
  get urls(): Urls {
    const url = (service: Service, at: number): string =>
      this.#ready.urls[service]?.[0] ?? `http://127.0.0.1:${this.portBase + at}`
    return {
      node: url('node', 0),
      storage: url('storage', 1),
      registry: url('registry', 2),
      index: url('index', 3),
      edge: url('edge', 4),
      interop: url('interop', 5),
    }
  }

  /** What it has said on both streams since its first start. */
  output(): string {
    return `${this.#earlier}${this.#child.output}`
  }

  /** The same since its latest start. */
  outputSinceStart(): string {
    return this.#child.output
  }

  get exited(): Promise<Ended> {
    return this.#child.exited
  }

  get hasEnded(): boolean {
    return this.#child.hasEnded
  }

  async adminToken(): Promise<string> {
    return (await readFile(join(this.data, 'admin.token'), 'utf8')).trim()
  }

  /** One request, its answer read to the end. A connection that breaks is an error. */
  async request(service: Service, path: string, options: RequestOptions = {}): Promise<Answer> {
    const { method = 'GET', headers = {}, body, signal, admin = false, agent } = options
    const token = admin ? { authorization: `Bearer ${await this.adminToken()}` } : {}
    const url = new URL(this.urls[service])
    const outgoing = httpRequest({
      host: url.hostname,
      port: url.port,
      // As given: a URL would be made plain first.
      path,
      method,
      headers: { ...token, ...headers },
      agent: agent ?? new Agent({ keepAlive: false }),
      ...(signal === undefined ? {} : { signal }),
    })
    const answered = once(outgoing, 'response')
    if (body === undefined || typeof body === 'string' || body instanceof Uint8Array) outgoing.end(body)
    else body.pipe(outgoing)
    const [incoming] = (await answered) as [Readable & { statusCode: number; headers: IncomingHttpHeaders }]
    // An answer before the end of the body may close the connection under the rest of it.
    outgoing.on('error', () => {})
    return { status: incoming.statusCode, headers: incoming.headers, body: await buffer(incoming) }
  }

  /** Stores the bytes as an object; its address, once that is acknowledged. */
  async put(bytes: string | Uint8Array, headers: OutgoingHttpHeaders = {}): Promise<string> {
    const path = bytes.length > UNSTREAMED_MAX ? '/o?stream' : '/o'
    const { status, body } = await this.request('storage', path, { method: 'POST', admin: true, headers, body: bytes })
    if (status !== 201 && status !== 200) throw new Error(`A put was answered ${status}: ${body.toString()}`)
    return (JSON.parse(body.toString()) as { readonly address: string }).address
  }

  /** `cairn …` of the same tree, on this data directory. */
  async cairn(...args: readonly string[]): Promise<Ran> {
    return await runCairn(this.#place, [...args, '--data', this.data], this.#options.env)
  }

  /** The sum of a metric's samples whose labels contain all of these: `await node.metric('storage', 'x_total', 'code="200"')`. */
  async metric(service: Service, name: string, ...labels: readonly string[]): Promise<number> {
    const { body } = await this.request(service, '/metrics')
    let sum = 0
    for (const line of body.toString().split('\n')) {
      const [, sample, given = '', value] = /^([a-zA-Z_:][\w:]*)(\{.*\})? (\S+)/.exec(line) ?? []
      if (sample === name && labels.every((label) => given.includes(label))) sum += Number(value)
    }
    return sum
  }

  signal(name: NodeJS.Signals): void {
    process.kill(this.pid, name)
  }

  /** SIGTERM, and waits until it is gone. */
  async stop(): Promise<Ended> {
    if (!this.hasEnded) this.signal('SIGTERM')
    return await this.exited
  }

  /** SIGKILL, as a machine that loses power does to its processes. */
  async kill(): Promise<Ended> {
    this.#child.killGroup()
    return await this.exited
  }

  /** Starts it anew on the same data, ports and configuration; by default it stops first. */
  async restart(more: { readonly config?: string; readonly args?: readonly string[] } = {}): Promise<void> {
    await this.stop()
    await this.relaunch(more)
    await this.ready()
  }

  /** `restart` without waiting until it is ready. */
  async relaunch(more: { readonly config?: string; readonly args?: readonly string[] } = {}): Promise<void> {
    await this.exited
    this.#earlier = this.output().slice(-OUTPUT_KEPT)
    Object.assign(this.#options, more)
    if (more.config !== undefined) await writeFile(join(this.#place.directory, 'cairn.toml'), more.config)
    this.#ready = { pid: 0, urls: {} }
    this.#child = this.#launch()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.killGroup()
    // One that never was cannot end.
    await this.exited.catch(() => {})
  }
}

/** `cairn …` of the tree under test, started in the place's directory. */
export async function runCairn(
  { directory, tree, env }: Place,
  args: readonly string[],
  more: Readonly<Record<string, string>> = {},
  input?: string | Uint8Array,
): Promise<Ran> {
  const child = spawn(process.execPath, [join(tree, 'cli/bin/cairn.js'), ...args], {
    cwd: directory,
    env: { PATH: process.env['PATH'], HOME: directory, ...env, ...more },
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  })
  // A command may end without reading what it is given.
  child.stdin?.on('error', () => {}).end(input)
  const ended = once(child, 'close')
  const [out, err] = await Promise.all([text(child.stdout as Readable), text(child.stderr as Readable)])
  await ended
  return { code: child.exitCode, signal: child.signalCode, out, err }
}
