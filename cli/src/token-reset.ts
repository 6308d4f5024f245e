/** `cairn token reset`: new token keys for a node that cannot start without the old ones. Works offline. */
import { Machine, resetTokens } from '@cairn/node'
import { type CommandHandler, dataFlag, dataPath } from './command.ts'

export const reset: CommandHandler = async ({ given, terminal }) => {
  const data = dataPath(given, terminal.environment)
  await using machine = new Machine({ level: 'error', format: 'json', memoryBytes: undefined })
  await resetTokens(machine.node.platform, data)
  return {
    result: { data },
    message: 'new token keys; every token minted before is refused, and the next start writes a new admin.token',
    next: [`npx cairn start${dataFlag(given)}`],
  }
}
