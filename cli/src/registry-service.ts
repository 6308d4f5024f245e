/** The registry a command is about, found and opened. */
import { type RegistryClient, registryClient } from '@cairn/clients'
import { CairnError, isKind } from '@cairn/kernel'
import { artifactHash, isOriginOf, type LogIdentity } from '@cairn/names'
import type { CommandContext } from './command.ts'
import { hasPins, readPin } from './registry-pins.ts'
import { type ServiceClient, type ServiceKind, withClient } from './service-client.ts'

export type RegistryConnection = ServiceClient<RegistryClient>

const REGISTRY: ServiceKind<RegistryClient> = {
  service: 'registry',
  scopes: ['registry:propose', 'registry:approve', 'registry:commit', 'registry:admin'],
  build: registryClient,
}

/** Lets `use` talk to the registry at `url`, or to the one of the node; leaves nothing open. */
export async function withRegistry<T>(
  context: CommandContext,
  use: (registry: RegistryConnection) => Promise<T>,
  url?: string,
): Promise<T> {
  const shown = async (registry: RegistryConnection): Promise<T> => {
    await showPin(context, registry)
    return await use(registry)
  }
  return await withClient(context, REGISTRY, shown, url)
}

/**
 * Shows the registry what this user has seen of its log, if that is anything: one that was put back from an older copy
 * hears of it before it is asked to sign. Whatever comes of it, the command says what is wrong better than this could.
 */
async function showPin(
  { terminal: { environment } }: CommandContext,
  { client, call }: RegistryConnection,
): Promise<void> {
  if (!(await hasPins(environment))) return
  try {
    const { origin } = await client.head(call())
    const pin = await readPin(environment, origin)
    if (pin?.checkpoint !== undefined) await client.showCheckpoint(new TextEncoder().encode(pin.checkpoint), call())
  } catch (error) {
    // One that is not there is not asked twice.
    if (!(error instanceof CairnError) || isKind(error, 'Timeout')) throw error
  }
}

/** Which log the registry keeps, by its own word: its origin and the hash of its first version. */
export async function identityOf({ client, call }: RegistryConnection): Promise<LogIdentity> {
  const { origin } = await client.head(call())
  const genesis = artifactHash(await client.version(0, call()))
  if (isOriginOf(origin, genesis)) return { origin, genesis }
  const detail = `The registry calls itself ${origin}, but its first version is ${genesis}: these do not belong together.`
  throw new CairnError('Integrity', detail, { code: 'other_genesis' })
}
