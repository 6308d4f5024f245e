/** Where a user's programs keep what must outlive any one data directory. */
import { isAbsolute, join } from 'node:path'

/**
 * `CAIRN_STATE`, else `cairn` in `XDG_STATE_HOME`, else in `~/.local/state`. Nothing where the environment names none of
 * them, as for a service without a home: then nothing is kept there.
 */
export function stateDirectory(environment: Readonly<Record<string, string | undefined>>): string | undefined {
  const { CAIRN_STATE: own = '', XDG_STATE_HOME: states = '', HOME: home = '' } = environment
  if (own !== '') return own
  if (isAbsolute(states)) return join(states, 'cairn')
  return isAbsolute(home) ? join(home, '.local', 'state', 'cairn') : undefined
}
