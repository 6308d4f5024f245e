/** The interop service a command asks, found and opened. */
import { type InteropClient, interopClient } from '@cairn/clients'
import type { CommandContext } from './command.ts'
import { type ServiceClient, type ServiceKind, withClient } from './service-client.ts'

export type Interop = ServiceClient<InteropClient>

const INTEROP: ServiceKind<InteropClient> = {
  service: 'interop',
  scopes: ['mailbox:recv', 'mailbox:admin', 'audit:read', 'events:read', 'interop:admin'],
  build: interopClient,
}

/** Lets `use` talk to the interop service of the node; leaves nothing open. */
export async function withInterop<T>(context: CommandContext, use: (interop: Interop) => Promise<T>): Promise<T> {
  return await withClient(context, INTEROP, use)
}
