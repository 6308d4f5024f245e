/** Options that commands of several tables share: the same name means the same thing everywhere. */
import type { OperandRow, OptionRow } from './command.ts'

/** Options of every command. */
export const COMMON_OPTIONS: readonly OptionRow[] = [
  { name: 'data', value: 'DIR', does: 'The data directory of the node (default ./.cairn, or CAIRN_DATA).' },
  { name: 'node', value: 'URL', does: 'Ask this node: http://HOST:PORT or unix:PATH (default: the socket in --data).' },
  {
    name: 'token-file',
    value: 'FILE',
    does: 'The token to present (default: admin.token in --data, to that node only).',
  },
  { name: 'timeout', value: 'TIME', does: 'How long to wait for the node, such as 5s or 2m (default 10s).' },
  { name: 'json', does: 'One JSON object on standard output, whatever happens.' },
  { name: 'quiet', short: 'q', does: 'Data and errors only.' },
  { name: 'no-color', does: 'No colours; NO_COLOR does the same.' },
  { name: 'help', short: 'h', does: 'What a command does, and its options.' },
  { name: 'version', does: 'The version of this program.' },
]

export const CONFIG_FILE: OptionRow = {
  name: 'config',
  value: 'FILE',
  does: 'The configuration (default ./cairn.toml, if there is one).',
}

export const LINKS: OptionRow = {
  name: 'links',
  value: 'HOW',
  choices: ['keep', 'follow', 'skip'],
  does: 'What to do with symbolic links of a directory (default keep).',
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
