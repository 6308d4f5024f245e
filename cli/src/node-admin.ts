/** The running node, as an administrator asks it: its socket in the data directory, and the token beside it. */
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

export class NodeAdmin {
  readonly runtime: Runtime
  /** As the user would name it. */
  readonly place: string
  /** The node is on this machine, reached through its own socket. */
  readonly isLocal: boolean
  readonly deadline: Deadline
  readonly #caller: Caller
  readonly #tokenPath: string

  constructor(
    runtime: Runtime,
    { given, terminal }: Context,
    { transport, breakers }: { readonly transport: UndiciTransport; readonly breakers: Breakers },
  ) {
    const { base, place } = targetOf(given.text('node') ?? `unix:${dataPath(given, terminal.environment)}/admin.sock`)
    this.runtime = runtime
    this.place = place
    this.isLocal = base.protocol === 'http+unix:'
    this.deadline = Deadline.after(runtime.clock, parseDuration(given.text('timeout') ?? TIMEOUT_DEFAULT))
    this.#tokenPath = tokenPath(given, terminal.environment)
    const grant = { scopes: ['node:admin'], bearer: async () => await readToken(this.#tokenPath) } as const
    this.#caller = new Caller({ runtime, transport, base, target: 'node', breakers, grant })
  }

  async status(): Promise<NodeStatus> {
    return await this.#ask('status', 'GET', 'admin/status')
  }

  async stop(): Promise<void> {
    await this.#ask('stop', 'POST', 'admin/stop')
  }

  async config(): Promise<readonly ConfigRow[]> {
    return await this.#ask('config', 'GET', 'admin/config')
  }

  async reload(): Promise<ReloadOutcome & { readonly tag: 'reloaded' }> {
    return await this.#ask('reload', 'POST', 'admin/config/reload')
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
    // Read to its end, so that asking again and again needs one connection.
    const read: Call<string>['read'] = async (response) => await readText(response, ANSWER_BYTES_MAX)
    const ask = { operation: 'health', method: 'GET', path: 'healthz', idempotent: false, answers: [503] } as const
    try {
      await this.#caller.call({ ...ask, read }, { deadline: this.deadline })
      return true
    } catch (error) {
      if (!isKind(error, 'Timeout')) throw error
      return !['unreachable', 'connection_lost'].includes(error.code)
    }
  }

  /** Asked once: a node that does not answer its own socket is not there, and waiting would not bring it. */
  async #ask<T>(operation: string, method: 'GET' | 'POST', path: string, body?: unknown): Promise<T> {
    const sent =
      body === undefined
        ? {}
        : { body: Buffer.from(JSON.stringify(body)), headers: { 'content-type': 'application/json' } }
    const read: Call<T>['read'] = async (response) => JSON.parse(await readText(response, ANSWER_BYTES_MAX)) as T
    try {
      const call: Call<T> = { operation, method, path, idempotent: false, scope: 'node:admin', read, ...sent }
      return await this.#caller.call(call, { deadline: this.deadline })
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
