/** An address, or the one that a name means now, as the registry of the node says. */
import { CairnError } from '@cairn/kernel'
import { parseName } from '@cairn/names'
import { type Address, parseAddress } from '@cairn/wire'
import type { CommandContext } from './command.ts'
import { withRegistry } from './registry-service.ts'

const NAME_PREFIX = 'name:'

export interface Meant {
  readonly address: Address
  /** How the address was found, where it was not given: it is not proved. */
  readonly warnings: readonly string[]
}

/** `b3:…` is itself; `name:site@1.0` and `site@1.0` are what they mean. */
export async function addressMeant(context: CommandContext, text: string): Promise<Meant> {
  const isName = text.startsWith(NAME_PREFIX) || text.includes('@')
  if (!isName) return { address: parseAddress(text), warnings: [] }
  const name = parseName(text.startsWith(NAME_PREFIX) ? text.slice(NAME_PREFIX.length) : text)
  const found = await withRegistry(context, async ({ client, call }) => await client.name(name, undefined, call()))
  if (found === undefined)
    throw new CairnError('NotFound', `${name} is not found in this registry.`, { code: 'no_name' })
  const address = found.item.manifest
  const says = `${name} is ${address}, as the registry says; \`cairn resolve name:${name} --proof FILE\` gets the proof`
  return { address, warnings: [says] }
}
