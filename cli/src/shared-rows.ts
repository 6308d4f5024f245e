/** Options that commands of several tables share: the same name means the same thing everywhere. */
import type { OptionRow } from './command.ts'

export const CONFIG_FILE: OptionRow = {
  name: 'config',
  value: 'FILE',
  does: 'The configuration (default ./cairn.toml, if there is one).',
}

export const PROGRESS: OptionRow = {
  name: 'progress',
  value: 'FORM',
  choices: ['json'],
  does: 'How far it is, as JSON lines on standard error.',
}
