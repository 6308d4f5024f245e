/** The edge a command is about, found and opened. */
import { type EdgeClient, edgeClient } from '@cairn/clients'
import type { CommandContext } from './command.ts'
import { type ServiceClient, type ServiceKind, withClient } from './service-client.ts'

const EDGE: ServiceKind<EdgeClient> = { service: 'edge', scopes: ['edge:admin'], build: edgeClient }

/** Lets `use` talk to the edge of the node; leaves nothing open. */
export async function withEdge<T>(
  context: CommandContext,
  use: (edge: ServiceClient<EdgeClient>) => Promise<T>,
): Promise<T> {
  return await withClient(context, EDGE, use)
}
