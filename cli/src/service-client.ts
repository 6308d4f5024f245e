/** A client of one service of the node, for as long as a command runs. */
import { type CallContext, Caller, type EdgeClient, edgeClient, type IndexClient, indexClient } from '@cairn/clients'
import {
  Breakers,
  CairnError,
  Cancel,
  Deadline,
  isKind,
  KERNEL_METRICS,
  MemoryLog,
  MemoryMetrics,
  SystemClock,
  systemRuntime,
} from '@cairn/kernel'
import type { NodeStatus } from '@cairn/node'
import { RealProcess, UndiciTransport } from '@cairn/platform'
import { parseDuration, type Scope } from '@cairn/wire'
import type { CommandContext } from './command.ts'
import { isThisMachine, NOT_SHOWN, reachable } from './credentials.ts'
import { credentialsOf, withNode } from './node-admin.ts'

/** Lets `use` run until it ends, or until a signal to this process aborts it. */
export async function untilInterrupted<T>(use: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const interrupted = new AbortController()
  const stopHearing = new RealProcess().onSignal(() => interrupted.abort(new CairnError('Canceled', 'Interrupted.')))
  try {
    return await use(interrupted.signal)
  } finally {
    stopHearing()
  }
}

/** The index a command asks, found and opened. */

export type IndexConnection = ServiceClient<IndexClient>

const INDEX: ServiceKind<IndexClient> = { service: 'index', scopes: ['index:read'], build: indexClient }

/** Lets `use` talk to the index of the node; leaves nothing open. */
export async function withIndex<T>(context: CommandContext, use: (index: IndexConnection) => Promise<T>): Promise<T> {
  return await withClient(context, INDEX, use)
}

/** The edge a command is about, found and opened. */

const EDGE: ServiceKind<EdgeClient> = { service: 'edge', scopes: ['edge:admin'], build: edgeClient }

/** Lets `use` talk to the edge of the node; leaves nothing open. */
export async function withEdge<T>(
  context: CommandContext,
  use: (edge: ServiceClient<EdgeClient>) => Promise<T>,
): Promise<T> {
  return await withClient(context, EDGE, use)
}

/** Where a service of the node is that a command is about. */

type ServiceContext = Pick<CommandContext, 'given' | 'terminal'>

interface ServiceLocation {
  readonly url: string
  /** `--node` named the service itself, for somebody who has no business with the rest of the node. */
  readonly isNamed: boolean
}

const PROBE_MS = 5000

/** The URL of the service: what `--node` names if that is the service itself, else what the node says. */
export async function findService(context: ServiceContext, service: string): Promise<ServiceLocation> {
  const node = context.given.text('node') ?? ''
  if (/^https?:/.test(node) && (await isService(node, service))) return { url: node, isNamed: true }
  const { services } = await statusOf(context)
  const own = services.find(({ name }) => name === service)?.urls.find((each) => each.startsWith('http'))
  const url = own === undefined ? undefined : reachable(own)
  const at = url === undefined ? null : URL.parse(url)
  if (url === undefined || at === null)
    throw unreachable(`This node runs no ${service} service that can be reached from here.`)
  // There, loopback is the other machine; here it would be whatever listens on that port of this one.
  const asked = URL.parse(node)
  if (/^https?:/.test(node) && asked !== null && !isThisMachine(asked) && isThisMachine(at))
    throw unreachable(`The ${service} of the node at ${asked.origin} listens on ${at.host} of its own machine only.`)
  return { url, isNamed: false }
}

/**
 * A token that is for the service alone does not let its bearer ask the node where that is; on this machine the data
 * directory has one that does, and the service is still shown only the token that was named.
 */
async function statusOf({ given, terminal }: ServiceContext): Promise<NodeStatus> {
  const ask = async (asked: ServiceContext['given']): Promise<NodeStatus> =>
    await withNode({ given: asked, terminal }, async (admin) => await admin.status())
  try {
    return await ask(given)
  } catch (error) {
    const isRefused = isKind(error, 'Unauthorized') || isKind(error, 'Forbidden')
    if (!isRefused || given.text('node') !== undefined || given.text('token-file') === undefined) throw error
    try {
      return await ask(given.without('token-file'))
    } catch {
      throw error
    }
  }
}

function unreachable(detail: string): CairnError {
  return new CairnError('Timeout', detail, { code: 'unreachable', status: 502 })
}

async function isService(node: string, service: string): Promise<boolean> {
  using cancel = new Cancel({ deadline: Deadline.after(new SystemClock(), PROBE_MS) })
  try {
    const response = await fetch(new URL('/version', node), { signal: cancel.signal, redirect: 'error' })
    const version: unknown = await response.json()
    return typeof version === 'object' && version !== null && 'service' in version && version.service === service
  } catch {
    // Whatever is there, the question to the node will say what is wrong.
    return false
  }
}

const TIMEOUT_DEFAULT = '10s'

export interface ServiceClient<Client> {
  readonly client: Client
  readonly url: string
  /** For one call: `--timeout` is what each of them may take, and so much more where the answer itself takes time. */
  readonly call: (moreMs?: number) => CallContext
}

export interface ServiceKind<Client> {
  readonly service: 'registry' | 'index' | 'edge' | 'interop'
  /** What a command may have to be allowed to do there. */
  readonly scopes: readonly Scope[]
  readonly build: (caller: Caller) => Client
}

/** Lets `use` talk to the service at `url`, or to that of the node; leaves nothing open. */
export async function withClient<Client, T>(
  { given, terminal }: CommandContext,
  { service, scopes, build }: ServiceKind<Client>,
  use: (service: ServiceClient<Client>) => Promise<T>,
  url?: string,
): Promise<T> {
  const place = url ?? (await findService({ given, terminal }, service)).url
  const base = baseOf(place, service)
  const timeoutMs = parseDuration(given.text('timeout') ?? TIMEOUT_DEFAULT)
  const credentials = credentialsOf({ given, terminal })
  // One process, one command: what would be a log and a registry of metrics elsewhere dies with it.
  const runtime = systemRuntime(new MemoryLog(), new MemoryMetrics(KERNEL_METRICS))
  const transport = new UndiciTransport(runtime)
  const breakers = new Breakers(runtime)
  const grant = { scopes, bearer: async () => await credentials.bearerFor(base) }
  const client = build(new Caller({ runtime, transport, base, target: service, breakers, grant }))
  try {
    const call = (moreMs = 0): CallContext => ({ deadline: Deadline.after(runtime.clock, timeoutMs + moreMs) })
    return await use({ client, url: base.href, call })
  } catch (error) {
    throw explained(error, service, base, credentials.path)
  } finally {
    breakers.close()
    await transport.close()
  }
}

function baseOf(text: string, service: string): URL {
  const base = URL.parse(text)
  if (base !== null && (base.protocol === 'http:' || base.protocol === 'https:')) {
    if (!base.pathname.endsWith('/')) base.pathname += '/'
    return base
  }
  throw new CairnError('Malformed', `The ${service} is at http://HOST:PORT or https://HOST:PORT; not ${text}.`, {
    code: 'usage',
  })
}

/** The same error, said to somebody who typed a command. */
function explained(error: unknown, service: string, { origin }: URL, tokenFile: string): unknown {
  if (!(error instanceof CairnError)) return error
  const say = (detail: string): CairnError =>
    new CairnError(error.kind, detail, { code: error.code, status: error.status, cause: error })
  if (error.code === 'unreachable') return say(`No ${service} answers at ${origin}.`)
  const isDenied = isKind(error, 'Unauthorized') || isKind(error, 'Forbidden')
  if (error.code === 'bad_answer')
    return say(`What answers at ${origin} is not the ${service} of a cairn node, or another version: ${error.message}`)
  if (isDenied && !NOT_SHOWN.includes(error.code))
    return say(`The ${service} at ${origin} refuses the token in ${tokenFile}: ${error.message}`)
  return error
}
