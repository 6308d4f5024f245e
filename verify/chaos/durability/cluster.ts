/**
 * Real nodes that hold copies together, each a process on a directory of its own, asked over Unix sockets: those work
 * whatever happens to the network.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { request as send } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { SystemClock, sleep } from '@cairn/kernel'
import type { Home, RunningNode } from '../../../node/test/running-node.ts'

const CLOCK = new SystemClock()
const STEP_MS = 100
const TIMEOUT_MS = 40_000

export interface Answer {
  readonly status: number
  readonly body: Buffer
}

export interface MemberOptions {
  readonly name: string
  /** Where its storage listens: `HOST:PORT`. */
  readonly address: string
  readonly peers: readonly { readonly name: string; readonly address: string }[]
  /** Lines of `[storage]` and what is below it. */
  readonly storage?: readonly string[]
  readonly durability?: readonly string[]
  /** What runs it: a program and its first arguments. */
  readonly under?: readonly [string, ...string[]]
}

/** One node: started, killed, started again on what it left. */
export class Member {
  readonly name: string
  readonly #home: Home
  readonly #options: MemberOptions
  #running: RunningNode | undefined

  constructor(home: Home, options: MemberOptions) {
    this.#home = home
    this.#options = options
    this.name = options.name
  }

  async start(): Promise<void> {
    const { path } = this.#home
    const { name, under } = this.#options
    await writeFile(`${path}/${name}.toml`, configOf(path, this.#options))
    const args = ['--services', 'storage', '--data', name, '--config', `${name}.toml`]
    this.#running = this.#home.start(under === undefined ? { args } : { args, under })
    await this.#running.ready()
  }

  /** At once, whatever it does. */
  async kill(): Promise<void> {
    this.#running?.kill()
    await this.#running?.ended
  }

  async ask(method: string, path: string, body?: Uint8Array): Promise<Answer> {
    const { path: home } = this.#home
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    const headers: Record<string, string> = { host: 'localhost', authorization: `Bearer ${await this.#token()}` }
    if (body !== undefined) headers['content-length'] = String(body.length)
    const request = send({ socketPath: `${home}/${this.name}.sock`, method, path, headers }, (response) => {
      buffer(response).then((bytes) => resolve({ status: response.statusCode ?? 0, body: bytes }), reject)
    })
    request.on('error', reject)
    request.end(body)
    return await promise
  }

  async report(): Promise<Report> {
    return JSON.parse((await this.ask('GET', '/admin/durability')).body.toString()) as Report
  }

  /** A counter or gauge; 0 before it counts. */
  async metric(start: string): Promise<number> {
    const lines = (await this.ask('GET', '/metrics')).body.toString().split('\n')
    return Number(
      lines
        .find((line) => line.startsWith(start))
        ?.split(' ')
        .at(-1) ?? 0,
    )
  }

  async #token(): Promise<string> {
    return (await readFile(`${this.#home.path}/${this.name}/admin.token`, 'utf8')).trim()
  }
}

export interface Report {
  readonly target_copies: number
  readonly observed_copies: number | null
  readonly copies: {
    readonly full: number
    readonly under: number
    readonly single: number
    readonly objects: number
  } | null
  readonly places: readonly { readonly id: string; readonly state: string; readonly why: string }[]
  readonly repairs: { readonly pending: number }
  readonly scrub: { readonly state: string; readonly completed_at: number | null }
}

/** Asks again until it is so; says what it was in the end if it never is. */
export async function until<T>(what: string, ask: () => Promise<T>, isSo: (value: T) => boolean): Promise<T> {
  const beganAt = CLOCK.now()
  for (;;) {
    const value = await ask()
    if (isSo(value)) return value
    if (CLOCK.now() - beganAt > TIMEOUT_MS) throw new Error(`${what}: still ${JSON.stringify(value)}`)
    await sleep(CLOCK, STEP_MS)
  }
}

export async function pause(ms: number): Promise<void> {
  await sleep(CLOCK, ms)
}

/** Whether every object has its copies and nothing waits to be repaired. */
export function isWhole({ copies, places, repairs }: Report): boolean {
  const isUp = places.every(({ state }) => state === 'up')
  return isUp && repairs.pending === 0 && copies !== null && copies.under + copies.single === 0
}

/** Nodes that are each other's peers, at these addresses. */
export function cluster(
  home: Home,
  addresses: Readonly<Record<string, string>>,
  more: (name: string) => Partial<MemberOptions> = () => ({}),
): Member[] {
  const all = Object.entries(addresses).map(([name, address]) => ({ name, address }))
  return all.map(({ name, address }) => {
    const peers = all.filter((each) => each.name !== name)
    return new Member(home, { name, address, peers, ...more(name) })
  })
}

function configOf(home: string, { name, address, peers, storage = [], durability = [] }: MemberOptions): string {
  const rows = peers.map(
    (peer) =>
      `  { url = "http://${peer.address}", id = "${peer.name}", token_file = "${home}/${peer.name}/admin.token" },`,
  )
  return [
    '[storage]',
    `bind_addr = "${address}"`,
    ...(address.startsWith('127.') ? [] : ['insecure_public = true']),
    ...(peers.length === 0 ? [] : ['peers = [', ...rows, ']']),
    ...storage,
    '[storage.uds]',
    `path = "${home}/${name}.sock"`,
    '[storage.placement]',
    `id = "${name}"`,
    'peer_timeout = "2s"',
    '[storage.durability]',
    'sweep_interval = "1s"',
    ...durability,
    '',
  ].join('\n')
}
