/** The registry a command is about, found and opened. */
import { type RegistryClient, registryClient } from '@cairn/clients'
import { CairnError } from '@cairn/kernel'
import { artifactHash, isOriginOf, type LogIdentity } from '@cairn/names'
import type { CommandContext } from './command.ts'
import { type ServiceClient, type ServiceKind, withClient } from './service-client.ts'

export type Registry = ServiceClient<RegistryClient>

const REGISTRY: ServiceKind<RegistryClient> = {
  service: 'registry',
  scopes: ['registry:propose', 'registry:approve', 'registry:commit', 'registry:admin'],
  build: registryClient,
}

/** Lets `use` talk to the registry at `url`, or to the one of the node; leaves nothing open. */
export async function withRegistry<T>(
  context: CommandContext,
  use: (registry: Registry) => Promise<T>,
  url?: string,
): Promise<T> {
  return await withClient(context, REGISTRY, use, url)
}

/** Which log the registry keeps, by its own word: its origin and the hash of its first version. */
export async function identityOf({ client, call }: Registry): Promise<LogIdentity> {
  const { origin } = await client.head(call())
  const genesis = artifactHash(await client.version(0, call()))
  if (isOriginOf(origin, genesis)) return { origin, genesis }
  const detail = `The registry calls itself ${origin}, but its first version is ${genesis}: these do not belong together.`
  throw new CairnError('Integrity', detail, { code: 'other_genesis' })
}
