/** Options that commands of several tables share: the same name means the same thing everywhere. */
import type { OperandRow, OptionRow } from './command.ts'

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

export const ADDRESS: OperandRow = {
  name: 'ADDRESS',
  required: true,
  does: 'the address, b3: and 64 hexadecimal digits.',
}

export const OUTPUT: OptionRow = {
  name: 'output',
  short: 'o',
  value: 'PATH',
  does: 'Where to write it, - for standard output (default: standard output, unless that is a terminal).',
}

/** The object of no bytes; every node can be asked for it. */
export const SAMPLE_ADDRESS = 'b3:af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262'
