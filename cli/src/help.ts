/** Help, from the table alone. */
import type { CommandRow, OptionRow } from './command.ts'
import { EXIT_CODES } from './exit-codes.ts'
import { COMMON_OPTIONS } from './shared-options.ts'
import { COMMANDS, NOUNS } from './table.ts'
import { wrapText } from './terminal-text.ts'

/** The help of a command, of a noun, or, for an empty topic, of everything; no wider than `width` where that is known. */
export function renderHelp(topic: string, width?: number): string {
  const command = COMMANDS.find(({ name }) => name === topic)
  if (command !== undefined) return commandHelp(command, width)
  const rows = COMMANDS.filter(({ name }) => topic === '' || name.startsWith(`${topic} `))
  const head = topic === '' ? 'cairn: a content network in one program.' : (NOUNS[topic] ?? '')
  const usage = topic === '' ? 'cairn COMMAND [options]' : `cairn ${topic} COMMAND [options]`
  const listed = (among: readonly CommandRow[]) => among.map(({ name, summary }) => [name, summary] as const)
  const groups = topic === '' ? groupsOf(rows) : [{ title: 'Commands', rows }]
  return `${[
    wrapText(head, width),
    section('Usage', [usage]),
    ...aligned(
      groups.map(({ title, rows: own }) => [title, listed(own)] as const),
      width,
    ),
    section('Options', columns(COMMON_OPTIONS.map(optionRow), width)),
    ...(topic === '' ? [section('Exit codes', columns(exitCodeRows(), width))] : []),
    wrapText(`cairn ${topic === '' ? '' : `${topic} `}COMMAND --help says more about one.`, width),
  ].join('\n\n')}\n`
}

/** The first words of commands, by what a user is about to do. */
const GROUPS: readonly { readonly title: string; readonly words: readonly string[] }[] = [
  { title: 'Store and fetch', words: ['publish', 'put', 'get', 'ls', 'diff', 'rm', 'hash', 'resolve', 'providers'] },
  { title: 'Names', words: ['name', 'registry', 'verify-proof', 'verify'] },
  { title: 'Webhooks', words: ['hook', 'mailbox', 'audit', 'interop'] },
  { title: 'Map tiles', words: ['pack'] },
  {
    title: 'Operate a node',
    words: [
      'start',
      'stop',
      'status',
      'open',
      'doctor',
      'peers',
      'scrub',
      'repair',
      'backup',
      'config',
      'bench',
      'completion',
    ],
  },
  { title: 'Keys and tokens', words: ['key', 'token'] },
]

/** Every command in its group; one without a group would not be found, so there is a test. */
export function groupsOf(rows: readonly CommandRow[]): readonly { title: string; rows: readonly CommandRow[] }[] {
  return GROUPS.map(({ title, words }) => ({
    title,
    rows: words.flatMap((word) => rows.filter(({ name }) => name.split(' ')[0] === word)),
  }))
}

/** Sections whose columns are those of one table. */
function aligned(
  tables: readonly (readonly [string, readonly (readonly [string, string])[]])[],
  width: number | undefined,
): string[] {
  const left = Math.max(...tables.flatMap(([, rows]) => rows.map(([name]) => name.length)))
  return tables.map(([title, rows]) => section(title, columns(rows, width, left)))
}

const JSON_FORM = `One object on one line of standard output and nothing beside it, whether the command succeeds or not; commands that go
on, such as \`hook tail\`, print one for each thing they tell. \`cli/test/screens\` has the object of every command.

\`\`\`json
{"schema":"cairn.name.propose/1","ok":true,"result":{},"error":null,"warnings":[],"next":[]}
\`\`\`

- \`schema\`: \`cairn.\`, the command with a dot between its words, and the version of the form of \`result\`.
- \`error\`: null, or \`{code, kind, detail, exit_code}\`; \`code\` is stable, \`detail\` is for people.
- \`warnings\`, \`next\`: sentences, and command lines that make sense now.`

/** An option or operand of so many commands is explained once on the page. */
const SHARED_BY = 2

/** The page of commands, in Markdown. */
export function renderCommands(): string {
  const rowsOf = (command: CommandRow) => [...operandRows(command), ...command.options.map(optionRow)]
  const line = ([what, does]: readonly [string, string]): string => `- \`${what}\`: ${does}`
  const uses = Object.entries(Object.groupBy(COMMANDS.flatMap(rowsOf).map(line), (text) => text))
  const label = (text: string): string => text.slice(2, text.indexOf(': '))
  // Of those of one name the most used one: "as above" means one thing.
  const most = new Map(
    uses.toSorted(([, a = []], [, b = []]) => a.length - b.length).map(([text]) => [label(text), text]),
  )
  const shared = uses.flatMap(([text, { length = 0 } = []]) =>
    length >= SHARED_BY && most.get(label(text)) === text ? [text] : [],
  )
  const entry = (command: CommandRow): string => {
    const own = rowsOf(command).map(line)
    const told = own.filter((text) => !shared.includes(text))
    const further = own.filter((text) => shared.includes(text)).map(label)
    const seeAbove = further.length === 0 ? [] : [`- ${further.join(', ')}: as above.`]
    return [`**\`${usageOf(command)}\`** ${command.summary}`, ...told, ...seeAbove].join('\n')
  }
  const common = COMMON_OPTIONS.map((option) => `- \`${optionRow(option)[0]}\`: ${option.does}`)
  const codes = Object.values(EXIT_CODES).map(({ code, meaning }) => `| ${code} | ${meaning} |`)
  return `${[
    `## Options of every command\n\n${common.join('\n')}`,
    `## Options of several commands\n\n${shared.join('\n')}`,
    ...groupsOf(COMMANDS).map(({ title, rows }) => `## ${title}\n\n${rows.map(entry).join('\n\n')}`),
    `## With \`--json\`\n\n${JSON_FORM}`,
    `## Exit codes\n\n${['| code | meaning |', '|--:|---|', ...codes].join('\n')}`,
  ].join('\n\n')}\n`
}

function commandHelp(command: CommandRow, width: number | undefined): string {
  const operands = operandRows(command)
  const options = command.options.map(optionRow)
  return `${[
    wrapText(command.summary, width),
    section('Usage', [usageOf(command)]),
    ...(operands.length === 0 ? [] : [section('Operands', columns(operands, width))]),
    ...(options.length === 0 ? [] : [section('Options', columns(options, width))]),
    section('Options of every command', columns(COMMON_OPTIONS.map(optionRow), width)),
    section(
      'Examples',
      command.examples.flatMap(({ line, does }) => [`# ${does}`, line]),
    ),
  ].join('\n\n')}\n`
}

function usageOf({ name, operands, options }: CommandRow): string {
  const words = operands.map(({ name: operand, required, repeats }) => {
    const word = repeats === true ? `${operand}…` : operand
    return required ? word : `[${word}]`
  })
  return ['cairn', name, ...words, ...(options.length === 0 ? [] : ['[options]'])].join(' ')
}

function operandRows({ operands }: CommandRow): (readonly [string, string])[] {
  return operands.map(({ name, does }) => [name, `${does.slice(0, 1).toUpperCase()}${does.slice(1)}`])
}

function optionRow({ name, short, value, does }: OptionRow): readonly [string, string] {
  const names = short === undefined ? `--${name}` : `-${short}, --${name}`
  return [value === undefined ? names : `${names} ${value}`, does]
}

function exitCodeRows(): (readonly [string, string])[] {
  return Object.values(EXIT_CODES).map(({ code, meaning }) => [String(code), meaning])
}

function section(title: string, lines: readonly string[]): string {
  return [`${title}:`, ...lines.map((line) => `  ${line}`)].join('\n')
}

const INDENT = 2
const GAP = '  '
/** Explanations in less than this would be a column of single words: they go below. */
const BESIDE_MIN = 30

/** Two columns; where there is no room for the second one, it goes below the first. */
function columns(
  rows: readonly (readonly [string, string])[],
  width: number | undefined,
  left = Math.max(...rows.map(([name]) => name.length)),
): string[] {
  const beside = width === undefined ? Number.POSITIVE_INFINITY : width - INDENT - left - GAP.length
  return rows.flatMap(([name, does]) => {
    if (beside >= BESIDE_MIN) {
      const [first = '', ...rest] = wrapText(does, width === undefined ? undefined : beside).split('\n')
      return [`${name.padEnd(left)}${GAP}${first}`, ...rest.map((line) => `${' '.repeat(left)}${GAP}${line}`)]
    }
    const below = wrapText(does, (width ?? 0) - 2 * INDENT).split('\n')
    return [name, ...below.map((line) => `${GAP}${line}`)]
  })
}
