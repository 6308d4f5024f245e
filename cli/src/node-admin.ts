/**
 * The running node, as an administrator asks it: its socket in the data directory, and the token beside it. Where its
 * services run in several processes, each has a socket there, and what concerns all of them is asked of each.
 */
import { readdirSync } from 'node:fs'
import { badAnswer, type Call, Caller, readText } from '@cairn/clients'
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
import { type ConfigRow, type ReloadOutcome, UndiciTransport } from '@cairn/platform'
import { unixUrl } from '@cairn/transport'
import { type Audience, parseDuration, type Scope } from '@cairn/wire'
import { type CommandContext, dataPath } from './command.ts'
import { Credentials, NOT_SHOWN } from './credentials.ts'
import {
  type AnswerReader,
  numberField,
  readConfig,
  readDone,
  readReloaded,
  readStatus,
  textField,
} from './node-answers.ts'

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

type AdminContext = Pick<CommandContext, 'given' | 'terminal'>

/** Opens the way to the node, lets `use` ask, and leaves nothing open. */
export async function withNode<T>(context: AdminContext, use: (node: NodeAdmin) => Promise<T>): Promise<T> {
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

/** Which token a command may show to whom. */
export function credentialsOf({ given, terminal }: AdminContext): Credentials {
  const own = { given: given.without('node', 'token-file'), terminal }
  return new Credentials({ given, terminal }, async () => {
    try {
      const { urls, services } = await withNode(own, async (node) => await node.status())
      return [...urls, ...services.flatMap((service) => service.urls)]
    } catch (error) {
      // One that runs and does not answer in time may be the one that is asked: that is another trouble.
      const isSlow = isKind(error, 'Timeout') && error.code !== 'unreachable'
      // No node runs there that could say which ports are its own, so none is.
      if (error instanceof CairnError && !isSlow) return []
      throw error
    }
  })
}

interface AdminTarget {
  readonly caller: Caller
  readonly base: URL
  readonly place: string
}

interface AdminRequest<T> {
  readonly operation: string
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body?: unknown
  readonly read: AnswerReader<T>
}

interface AdminAnswers<T> {
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
  readonly #processes: readonly AdminTarget[]
  readonly #tokenPath: string

  constructor(
    runtime: Runtime,
    { given, terminal }: AdminContext,
    { transport, breakers }: { readonly transport: UndiciTransport; readonly breakers: Breakers },
  ) {
    const named = given.text('node')
    const targets = (named === undefined ? socketsIn(dataPath(given, terminal.environment)) : [named]).map(targetOf)
    this.runtime = runtime
    this.place = targets[0]?.place ?? ''
    this.isLocal = targets.every(({ base }) => base.protocol === 'http+unix:')
    this.deadline = Deadline.after(runtime.clock, parseDuration(given.text('timeout') ?? TIMEOUT_DEFAULT))
    const credentials = credentialsOf({ given, terminal })
    this.#tokenPath = credentials.path
    this.#processes = targets.map(({ base, place }) => {
      const grant = { scopes: ['node:admin'], bearer: async () => await credentials.bearerFor(base) } as const
      return { place, base, caller: new Caller({ runtime, transport, base, target: 'node', breakers, grant }) }
    })
  }

  /** The whole node: every process that answers, and what the others are missed for. */
  async status(): Promise<NodeStatus> {
    const { answers, absent } = await this.#askAll(STATUS)
    return mergedStatus(answers, absent.flatMap(serviceOfSocket))
  }

  /** Of each process that answers. */
  async pids(): Promise<readonly number[]> {
    const { answers } = await this.#askAll(STATUS)
    return answers.map(({ pid }) => pid).filter((pid) => pid > 0)
  }

  async stop(): Promise<void> {
    await this.#askAll({ operation: 'stop', method: 'POST', path: 'admin/stop', read: readDone })
  }

  async config(): Promise<readonly ConfigRow[]> {
    return await this.#ask({ operation: 'config', method: 'GET', path: 'admin/config', read: readConfig })
  }

  /** Every process reads the same configuration, so the first to answer speaks for all. */
  async reload(): Promise<ReloadOutcome & { readonly tag: 'reloaded' }> {
    const path = 'admin/config/reload'
    const { answers } = await this.#askAll({ operation: 'reload', method: 'POST', path, read: readReloaded })
    return answers[0]
  }

  /** Nothing is swept, compacted or pruned for the next `seconds`; in no process of the node. */
  async holdBackupLock(holder: string, seconds: number): Promise<void> {
    const body = { holder, for_s: seconds }
    await this.#askAll({ operation: 'hold', method: 'POST', path: 'admin/upkeep/hold', body, read: readDone })
  }

  async releaseBackupLock(holder: string): Promise<void> {
    const path = 'admin/upkeep/release'
    await this.#askAll({ operation: 'release', method: 'POST', path, body: { holder }, read: readDone })
  }

  async mint(body: MintBody): Promise<{ readonly token: string }> {
    const read: AnswerReader<string> = (value) => textField(value, 'token')
    return { token: await this.#ask({ operation: 'mint', method: 'POST', path: 'admin/tokens', body, read }) }
  }

  /** A code that signs in to the console once, and where. */
  async signInCode(): Promise<{ readonly code: string; readonly url: string; readonly expiresInS: number }> {
    const read: AnswerReader<{ code: string; url: string; expiresInS: number }> = (value) => {
      const expiresInS = numberField(value, 'expires_in_s')
      return { code: textField(value, 'code'), url: textField(value, 'url'), expiresInS }
    }
    return await this.#ask({ operation: 'open', method: 'POST', path: 'admin/console/code', read })
  }

  async rotate(): Promise<{ readonly kid: string }> {
    const read: AnswerReader<string> = (value) => textField(value, 'kid')
    return { kid: await this.#ask({ operation: 'rotate', method: 'POST', path: 'admin/keys/rotate', read }) }
  }

  async revoke(tid: string): Promise<{ readonly revoked: string }> {
    const path = `admin/tokens/${encodeURIComponent(tid)}/revoke`
    const read: AnswerReader<string> = (value) => textField(value, 'revoked')
    return { revoked: await this.#ask({ operation: 'revoke', method: 'POST', path, read }) }
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
  async #ask<T>(question: AdminRequest<T>): Promise<T> {
    let last: unknown
    for (const target of this.#processes) {
      try {
        return await this.#askOne(target, question)
      } catch (error) {
        if (!isAbsent(error)) throw error
        last = error
      }
    }
    throw last
  }

  /** Every process that is there; a socket without one was left by a process that died. */
  async #askAll<T>(question: AdminRequest<T>): Promise<AdminAnswers<T>> {
    const found: T[] = []
    const absent: string[] = []
    let last: unknown
    for (const target of this.#processes) {
      try {
        found.push(await this.#askOne(target, question))
      } catch (error) {
        if (!isAbsent(error)) throw error
        absent.push(target.place)
        last = error
      }
    }
    const [first, ...rest] = found
    if (first === undefined) throw last
    return { answers: [first, ...rest], absent }
  }

  /** Asked once: a node that does not answer its own socket is not there, and waiting would not bring it. */
  async #askOne<T>(
    { caller, base }: AdminTarget,
    { operation, method, path, body, read: take }: AdminRequest<T>,
  ): Promise<T> {
    const sent =
      body === undefined
        ? {}
        : { body: Buffer.from(JSON.stringify(body)), headers: { 'content-type': 'application/json' } }
    const read: Call<T>['read'] = async (response) => take(jsonIn(await readText(response, ANSWER_BYTES_MAX)))
    const call: Call<T> = { operation, method, path, idempotent: false, read, ...sent }
    const context = { deadline: this.deadline }
    try {
      // Whatever listens at a URL is shown a token only once it asks for one; a socket has been chosen by its directory.
      const isShownAtOnce = method !== 'GET' || base.protocol === 'http+unix:'
      if (isShownAtOnce) return await caller.call({ ...call, scope: 'node:admin' }, context)
      try {
        return await caller.call(call, context)
      } catch (error) {
        if (!isKind(error, 'Unauthorized')) throw error
        return await caller.call({ ...call, scope: 'node:admin' }, context)
      }
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
    if (error.code === 'bad_answer')
      return `What answers at ${this.place} is not a cairn node, or another version: ${error.message}`
    if (error.code === 'draining') return `The node at ${this.place} is stopping.`
    const isDenied = isKind(error, 'Unauthorized') || isKind(error, 'Forbidden')
    if (isDenied && !NOT_SHOWN.includes(error.code))
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
    const missing = ready ? [] : [why]
    services.push({ name, urls, ready, missing, concerns: [], summary: 'in another process' })
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

const STATUS = { operation: 'status', method: 'GET', path: 'admin/status', read: readStatus } as const

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw badAnswer('is not JSON', cause)
  }
}
