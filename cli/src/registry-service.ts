/** The registry a command is about, found and opened. */
import { type CallContext, Caller, type RegistryClient, registryClient } from '@cairn/clients'
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
import { artifactHash, isOriginOf, type LogIdentity } from '@cairn/names'
import { UndiciTransport } from '@cairn/platform'
import { parseDuration } from '@cairn/wire'
import type { CommandContext } from './command.ts'
import { readToken } from './node-admin.ts'
import { tokenPath } from './places.ts'
import { findService } from './service-place.ts'

const TIMEOUT_DEFAULT = '10s'
const SCOPES = ['registry:propose', 'registry:approve', 'registry:commit'] as const

export interface Registry {
  readonly client: RegistryClient
  readonly url: string
  /** For one call: `--timeout` is what each of them may take. */
  readonly call: () => CallContext
}

/** Lets `use` talk to the registry at `url`, or to the one of the node; leaves nothing open. */
export async function withRegistry<T>(
  { given, terminal }: CommandContext,
  use: (registry: Registry) => Promise<T>,
  url?: string,
): Promise<T> {
  const place = url ?? (await findService({ given, terminal }, 'registry')).url
  const base = baseOf(place)
  const timeoutMs = parseDuration(given.text('timeout') ?? TIMEOUT_DEFAULT)
  const tokenFile = tokenPath(given, terminal.environment)
  // One process, one command: what would be a log and a registry of metrics elsewhere dies with it.
  const runtime = systemRuntime(new MemoryLog(), new MemoryMetrics(KERNEL_METRICS))
  const transport = new UndiciTransport(runtime)
  const breakers = new Breakers(runtime)
  const grant = { scopes: SCOPES, bearer: async () => await readToken(tokenFile) }
  const client = registryClient(new Caller({ runtime, transport, base, target: 'registry', breakers, grant }))
  try {
    return await use({ client, url: base.href, call: () => ({ deadline: Deadline.after(runtime.clock, timeoutMs) }) })
  } catch (error) {
    throw explained(error, base, tokenFile)
  } finally {
    breakers.close()
    await transport.close()
  }
}

/** Which log the registry keeps, by its own word: its origin and the hash of its first version. */
export async function identityOf({ client, call }: Registry): Promise<LogIdentity> {
  const { origin } = await client.head(call())
  const genesis = artifactHash(await client.version(0, call()))
  if (isOriginOf(origin, genesis)) return { origin, genesis }
  const detail = `The registry calls itself ${origin}, but its first version is ${genesis}: these do not belong together.`
  throw new CairnError('Integrity', detail, { code: 'other_genesis' })
}

function baseOf(text: string): URL {
  const base = URL.parse(text)
  if (base !== null && (base.protocol === 'http:' || base.protocol === 'https:')) {
    if (!base.pathname.endsWith('/')) base.pathname += '/'
    return base
  }
  throw new CairnError('Malformed', `A registry is at http://HOST:PORT or https://HOST:PORT; not ${text}.`, {
    code: 'usage',
  })
}

/** The same error, said to somebody who typed a command. */
function explained(error: unknown, { origin }: URL, tokenFile: string): unknown {
  if (!(error instanceof CairnError)) return error
  const say = (detail: string): CairnError =>
    new CairnError(error.kind, detail, { code: error.code, status: error.status, cause: error })
  if (error.code === 'unreachable') return say(`No registry answers at ${origin}.`)
  const isDenied = isKind(error, 'Unauthorized') || isKind(error, 'Forbidden')
  if (isDenied && error.code !== 'no_token')
    return say(`The registry at ${origin} refuses the token in ${tokenFile}: ${error.message}`)
  return error
}
