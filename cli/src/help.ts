/** Help, from the table alone. */
import type { CommandRow, OptionRow } from './command.ts'
import { EXIT_CODES } from './exit-codes.ts'
import { COMMON_OPTIONS } from './options.ts'
import { COMMANDS, NOUNS } from './table.ts'

/** The help of a command, of a noun, or, for an empty topic, of everything. */
export function renderHelp(topic: string): string {
  const command = COMMANDS.find(({ name }) => name === topic)
  if (command !== undefined) return commandHelp(command)
  const rows = COMMANDS.filter(({ name }) => topic === '' || name.startsWith(`${topic} `))
  const head = topic === '' ? 'cairn: a content network in one program.' : (NOUNS[topic] ?? '')
  const usage = topic === '' ? 'cairn COMMAND [options]' : `cairn ${topic} COMMAND [options]`
  const commands = rows.map(({ name, summary }) => [name, summary] as const)
  return `${[
    head,
    section('Usage', [usage]),
    section('Commands', columns(commands)),
    section('Options', optionLines(COMMON_OPTIONS)),
    ...(topic === '' ? [section('Exit codes', exitCodeLines())] : []),
    `cairn ${topic === '' ? '' : `${topic} `}COMMAND --help says more about one.`,
  ].join('\n\n')}\n`
}

/** The page of commands, in Markdown. */
export function renderCommands(): string {
  const cell = (text: string): string => text.replaceAll('|', '\\|')
  const rows = COMMANDS.map((command) => `| \`${usageOf(command)}\` | ${cell(command.summary)} |`)
  const details = COMMANDS.filter(({ options, operands }) => options.length + operands.length > 0).map((command) => {
    const lines = [...operandRows(command), ...command.options.map(optionRow)].map(
      ([what, does]) => `- \`${what}\`: ${does}`,
    )
    return `### cairn ${command.name}\n\n${lines.join('\n')}`
  })
  const common = COMMON_OPTIONS.map((option) => `- \`${optionRow(option)[0]}\`: ${option.does}`)
  const codes = Object.values(EXIT_CODES).map(({ code, means }) => `| ${code} | ${means} |`)
  return `${[
    ['| command | what it does |', '|---|---|', ...rows].join('\n'),
    `## Options of every command\n\n${common.join('\n')}`,
    `## Options of one command\n\n${details.join('\n\n')}`,
    `## Exit codes\n\n${['| code | means |', '|--:|---|', ...codes].join('\n')}`,
  ].join('\n\n')}\n`
}

function commandHelp(command: CommandRow): string {
  const operands = operandRows(command)
  return `${[
    command.summary,
    section('Usage', [usageOf(command)]),
    ...(operands.length === 0 ? [] : [section('Operands', columns(operands))]),
    ...(command.options.length === 0 ? [] : [section('Options', optionLines(command.options))]),
    section('Options of every command', optionLines(COMMON_OPTIONS)),
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

function optionLines(options: readonly OptionRow[]): string[] {
  return columns(options.map(optionRow))
}

function exitCodeLines(): string[] {
  return columns(Object.values(EXIT_CODES).map(({ code, means }) => [String(code), means]))
}

function section(title: string, lines: readonly string[]): string {
  return [`${title}:`, ...lines.map((line) => `  ${line}`)].join('\n')
}

function columns(rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(...rows.map(([left]) => left.length))
  return rows.map(([left, right]) => `${left.padEnd(width)}  ${right}`)
}
