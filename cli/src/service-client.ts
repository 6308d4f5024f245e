/** A client of one service of the node, for as long as a command runs. */
import { type CallContext, Caller } from '@cairn/clients'
import {
  Breakers,
  CairnError,
  Deadline,
  isKind,
  KERNEL_METRICS,
  MemoryLog,
  MemoryMetrics,
  systemRuntime,
} from '@cairn/kernel'
import { UndiciTransport } from '@cairn/platform'
import { parseDuration, type Scope } from '@cairn/wire'
import type { CommandContext } from './command.ts'
import { NOT_SHOWN } from './credentials.ts'
import { credentialsOf } from './node-admin.ts'
import { findService } from './service-place.ts'

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
