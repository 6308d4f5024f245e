import type { OptionRow } from './command.ts'

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
