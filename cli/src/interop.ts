/** `cairn interop adopt`: give up what the journal of interop lost, so that webhooks and puts are taken again. */
import { type InteropClient, interopClient } from '@cairn/clients'
import type { CommandContext, CommandHandler } from './command.ts'
import { connectionFlags } from './registry-format.ts'
import { type ServiceClient, type ServiceKind, withClient } from './service-client.ts'

// The interop service a command asks, found and opened.

export type InteropConnection = ServiceClient<InteropClient>

const INTEROP: ServiceKind<InteropClient> = {
  service: 'interop',
  scopes: ['mailbox:recv', 'mailbox:admin', 'audit:read', 'events:read', 'interop:admin'],
  build: interopClient,
}

/** Lets `use` talk to the interop service of the node; leaves nothing open. */
export async function withInterop<T>(
  context: CommandContext,
  use: (interop: InteropConnection) => Promise<T>,
): Promise<T> {
  return await withClient(context, INTEROP, use)
}

export const adopt: CommandHandler = async (context) =>
  await withInterop(context, async ({ client, call }) => {
    const { lost, line } = await client.adopt(call())
    const flags = connectionFlags(context.given)
    return {
      result: { lost, line },
      message: `given up, and written down in line ${line} of the audit: ${lost}`,
      warnings: ['webhooks that were forgotten count as new if they come again, and messages that were lost stay lost'],
      next: [`npx cairn audit verify${flags}`],
    }
  })
