/**
 * The running node, as an administrator asks it: its socket in the data directory, and the token beside it. Where its
 * services run in several processes, each has a socket there, and what concerns all of them is asked of each.
 */
import { readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { type Call, Caller, readText } from '@cairn/clients'
import {
  Breakers,
  CairnError,
  Deadline,
  isKind,
  KERNEL_METRICS,
  MemoryLog,
  MemoryMetrics,
  type Runtime,
  systemRuntime,
} from '@cairn/kernel'
import type { NodeStatus } from '@cairn/node'
import { type ConfigRow, type ReloadOutcome, UndiciTransport, unixUrl } from '@cairn/platform'
import { type Audience, parseDuration, type Scope } from '@cairn/wire'
import type { CommandContext } from './command.ts'
import { dataPath, tokenPath } from './places.ts'

/** What may be asked of a new token. */
export interface MintBody {
  readonly aud: Audience
  readonly scopes: readonly Scope[]
  readonly ttl_s?: number
  readonly path_prefix?: string
  readonly methods?: readonly string[]
  readonly max_bytes?: number
}

const TIMEOUT_DEFAULT = '10s'
/** Answers are descriptions of one node. */
const ANSWER_BYTES_MAX = 4 * 1024 * 1024

type Context = Pick<CommandContext, 'given' | 'terminal'>

/** Opens the way to the node, lets `use` ask, and leaves nothing open. */
export async function withNode<T>(context: Context, use: (node: NodeAdmin) => Promise<T>): Promise<T> {
  // One process, one command: what would be a log and a registry elsewhere dies with it.
  const runtime = systemRuntime(new MemoryLog(), new MemoryMetrics(KERNEL_METRICS))
  const transport = new UndiciTransport(runtime)
  const breakers = new Breakers(runtime)
  try {
    return await use(new NodeAdmin(runtime, context, { transport, breakers }))
  } finally {
    breakers.close()
    await transport.close()
  }
}

interface Answers<T> {
  readonly answers: readonly [T, ...T[]]
  /** Sockets nobody listens on. */
  readonly absent: readonly string[]
}

export class NodeAdmin {
  readonly runtime: Runtime
  /** As the user would name it. */
  readonly place: string
  /** The node is on this machine, reached through its own socket. */
  readonly isLocal: boolean
  readonly deadline: Deadline
  /** One for each process, and where it is. */
  readonly #processes: readonly { readonly caller: Caller; readonly place: string }[]
  readonly #tokenPath: string

  constructor(
    runtime: Runtime,
    { given, terminal }: Context,
    { transport, breakers }: { readonly transport: UndiciTransport; readonly breakers: Breakers },
  ) {
    const named = given.text('node')
    const targets = (named === undefined ? socketsIn(dataPath(given, terminal.environment)) : [named]).map(targetOf)
    this.runtime = runtime
    this.place = targets[0]?.place ?? ''
    this.isLocal = targets.every(({ base }) => base.protocol === 'http+unix:')
    this.deadline = Deadline.after(runtime.clock, parseDuration(given.text('timeout') ?? TIMEOUT_DEFAULT))
    this.#tokenPath = tokenPath(given, terminal.environment)
    const grant = { scopes: ['node:admin'], bearer: async () => await readToken(this.#tokenPath) } as const
    this.#processes = targets.map(({ base, place }) => {
      return { place, caller: new Caller({ runtime, transport, base, target: 'node', breakers, grant }) }
    })
  }

  /** The whole node: every process that answers, and what the others are missed for. */
  async status(): Promise<NodeStatus> {
    const { answers, absent } = await this.#askAll<NodeStatus>('status', 'GET', 'admin/status')
    return mergedStatus(answers, absent.flatMap(serviceOfSocket))
  }

  /** Of each process that answers. */
  async pids(): Promise<readonly number[]> {
    const { answers } = await this.#askAll<NodeStatus>('status', 'GET', 'admin/status')
    return answers.map(({ pid }) => pid)
  }

  async stop(): Promise<void> {
    await this.#askAll('stop', 'POST', 'admin/stop')
  }

  async config(): Promise<readonly ConfigRow[]> {
    return await this.#ask('config', 'GET', 'admin/config')
  }

  /** Every process reads the same configuration, so the first to answer speaks for all. */
  async reload(): Promise<ReloadOutcome & { readonly tag: 'reloaded' }> {
    type Reloaded = ReloadOutcome & { readonly tag: 'reloaded' }
    const { answers } = await this.#askAll<Reloaded>('reload', 'POST', 'admin/config/reload')
    return answers[0]
  }

  /** Nothing is swept, compacted or pruned for the next `seconds`; in no process of the node. */
  async holdUpkeep(holder: string, seconds: number): Promise<void> {
    await this.#askAll('hold', 'POST', 'admin/upkeep/hold', { holder, for_s: seconds })
  }

  async releaseUpkeep(holder: string): Promise<void> {
    await this.#askAll('release', 'POST', 'admin/upkeep/release', { holder })
  }

  async mint(body: MintBody): Promise<{ readonly token: string }> {
    return await this.#ask('mint', 'POST', 'admin/tokens', body)
  }

  async rotate(): Promise<{ readonly kid: string }> {
    return await this.#ask('rotate', 'POST', 'admin/keys/rotate')
  }

  async revoke(tid: string): Promise<{ readonly revoked: string }> {
    return await this.#ask('revoke', 'POST', `admin/tokens/${encodeURIComponent(tid)}/revoke`)
  }

  /** Whether anybody is there: open to everybody, and answered until the very end. Slow is not gone. */
  async isAlive(): Promise<boolean> {
    for (const { caller } of this.#processes) if (await this.#answers(caller)) return true
    return false
  }

  async #answers(caller: Caller): Promise<boolean> {
    // Read to its end, so that asking again and again needs one connection.
    const read: Call<string>['read'] = async (response) => await readText(response, ANSWER_BYTES_MAX)
    const ask = { operation: 'health', method: 'GET', path: 'healthz', idempotent: false, answers: [503] } as const
    try {
      await caller.call({ ...ask, read }, { deadline: this.deadline })
      return true
    } catch (error) {
      if (!isKind(error, 'Timeout')) throw error
      return !['unreachable', 'connection_lost'].includes(error.code)
    }
  }

  /** Any process will do: the first that is there. */
  async #ask<T>(operation: string, method: 'GET' | 'POST', path: string, body?: unknown): Promise<T> {
    let last: unknown
    for (const { caller } of this.#processes) {
      try {
        return await this.#askOne<T>(caller, operation, method, path, body)
      } catch (error) {
        if (!isAbsent(error)) throw error
        last = error
      }
    }
    throw last
  }

  /** Every process that is there; a socket without one was left by a process that died. */
  async #askAll<T>(operation: string, method: 'GET' | 'POST', path: string, body?: unknown): Promise<Answers<T>> {
    const found: T[] = []
    const absent: string[] = []
    let last: unknown
    for (const { caller, place } of this.#processes) {
      try {
        found.push(await this.#askOne<T>(caller, operation, method, path, body))
      } catch (error) {
        if (!isAbsent(error)) throw error
        absent.push(place)
        last = error
      }
    }
    const [first, ...rest] = found
    if (first === undefined) throw last
    return { answers: [first, ...rest], absent }
  }

  /** Asked once: a node that does not answer its own socket is not there, and waiting would not bring it. */
  async #askOne<T>(
    caller: Caller,
    operation: string,
    method: 'GET' | 'POST',
    path: string,
    body?: unknown,
  ): Promise<T> {
    const sent =
      body === undefined
        ? {}
        : { body: Buffer.from(JSON.stringify(body)), headers: { 'content-type': 'application/json' } }
    const read: Call<T>['read'] = async (response) => JSON.parse(await readText(response, ANSWER_BYTES_MAX)) as T
    try {
      const call: Call<T> = { operation, method, path, idempotent: false, scope: 'node:admin', read, ...sent }
      return await caller.call(call, { deadline: this.deadline })
    } catch (error) {
      throw await this.#explained(error)
    }
  }

  /** The same error, said to somebody who typed a command. */
  async #explained(error: unknown): Promise<unknown> {
    if (!(error instanceof CairnError)) return error
    // Where no node ever ran there is no token either; the node is what is missing.
    if (error.code === 'no_token' && !(await this.isAlive())) return this.#unreachable(error)
    if (error.code === 'unreachable') return this.#unreachable(error)
    const detail = this.#sentence(error)
    if (detail === undefined) return error
    return new CairnError(error.kind, detail, { code: error.code, status: error.status, cause: error })
  }

  #unreachable(cause: unknown): CairnError {
    const detail = `No node answers at ${this.place}.`
    return new CairnError('Timeout', detail, { code: 'unreachable', status: 502, cause })
  }

  #sentence(error: CairnError): string | undefined {
    if (error.code === 'draining') return `The node at ${this.place} is stopping.`
    const isDenied = isKind(error, 'Unauthorized') || isKind(error, 'Forbidden')
    if (isDenied && error.code !== 'no_token')
      return `The node at ${this.place} refuses the token in ${this.#tokenPath}: ${error.message}`
    return isKind(error, 'Timeout') ? `The node at ${this.place} did not answer in time.` : undefined
  }
}

function isAbsent(error: unknown): boolean {
  return error instanceof CairnError && error.code === 'unreachable'
}

/** The sockets of the node's processes; the one of a node in one process where there is none. */
function socketsIn(data: string): readonly string[] {
  let names: readonly string[] = []
  try {
    names = readdirSync(data).filter((name) => /^admin(?:-[a-z]+)?\.sock$/.test(name))
  } catch {
    // There is no such directory yet, or it is not ours to read: asking will say so.
  }
  return (names.length === 0 ? ['admin.sock'] : names).map((name) => `unix:${data}/${name}`)
}

/** The service whose process left its socket behind. */
function serviceOfSocket(path: string): string[] {
  const [, name] = /admin-([a-z]+)\.sock$/.exec(path) ?? []
  return name === undefined ? [] : [name]
}

const GONE = { url: '', ready: false, why: 'its process, which is gone' }

/** One status out of those of several processes; a service that one of them calls, or that was there, is missed. */
function mergedStatus(statuses: readonly [NodeStatus, ...NodeStatus[]], gone: readonly string[]): NodeStatus {
  const [first, ...rest] = statuses
  const called = statuses.flatMap(({ elsewhere }) => elsewhere)
  if (rest.length + called.length + gone.length === 0) return first
  const services = statuses.flatMap((status) => status.services)
  for (const { name, url, ready, why } of [...called, ...gone.map((name) => ({ name, ...GONE }))]) {
    if (services.some((service) => service.name === name)) continue
    const urls = url === '' ? [] : [url]
    services.push({ name, urls, ready, missing: ready ? [] : [why], summary: 'in another process' })
  }
  const urls = statuses.flatMap((status) => status.urls)
  return { ...first, urls, ready: services.every(({ ready }) => ready), services, elsewhere: [] }
}

function targetOf(text: string): { base: URL; place: string } {
  if (text.startsWith('unix:')) {
    const path = text.slice('unix:'.length)
    return { base: unixUrl(path), place: path }
  }
  const base = URL.parse(text)
  if (base === null || (base.protocol !== 'http:' && base.protocol !== 'https:'))
    throw new CairnError('Malformed', `--node is http://HOST:PORT, https://HOST:PORT or unix:PATH; not ${text}.`, {
      code: 'usage',
    })
  return { base, place: base.origin }
}

/** The bearer in a file; its only line. */
export async function readToken(path: string): Promise<string> {
  try {
    return (await readFile(path, 'utf8')).trim()
  } catch (cause) {
    const isAbsent = cause instanceof Error && 'code' in cause && cause.code === 'ENOENT'
    const detail = isAbsent ? `There is no token at ${path}.` : `The token at ${path} cannot be read.`
    throw new CairnError('Unauthorized', `${detail} Name one with --token-file, or the node's directory with --data.`, {
      code: 'no_token',
      cause,
    })
  }
}
