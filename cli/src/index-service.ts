/** The index a command asks, found and opened. */
import { type IndexClient, indexClient } from '@cairn/clients'
import type { CommandContext } from './command.ts'
import { type ServiceClient, type ServiceKind, withClient } from './service-client.ts'

export type Index = ServiceClient<IndexClient>

const INDEX: ServiceKind<IndexClient> = { service: 'index', scopes: ['index:read'], build: indexClient }

/** Lets `use` talk to the index of the node; leaves nothing open. */
export async function withIndex<T>(context: CommandContext, use: (index: Index) => Promise<T>): Promise<T> {
  return await withClient(context, INDEX, use)
}
