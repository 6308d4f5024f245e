/** `cairn token reset`: new token keys for a node that cannot start without the old ones. Works offline. */
import { Machine, resetTokens } from '@cairn/node'
import type { Run } from './command.ts'
import { dataFlag, dataPath } from './places.ts'

export const reset: Run = async ({ given, terminal }) => {
  const data = dataPath(given, terminal.environment)
  await using machine = new Machine({ level: 'error', format: 'json', memoryBytes: undefined })
  await resetTokens(machine.node.platform, data)
  return {
    result: { data },
    message: 'new token keys; every token minted before is refused, and the next start writes a new admin.token',
    next: [`npx cairn start${dataFlag(given)}`],
  }
}
