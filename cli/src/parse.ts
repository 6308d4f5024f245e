/**
 * From words to a command.
 *
 *     words ─▶ tokens ─▶ which command ─▶ are its options and operands right ─▶ run
 *                              │                        │
 *                              └── help, version        └── usage: what is wrong, and what was probably meant
 *
 * An option has the same shape in every command, so words can be told apart before the command is known.
 */
import { parseArgs } from 'node:util'
import { CommandArguments, type CommandRow, type OptionRow } from './command.ts'
import { findNearest, suggestCommand, suggestOption } from './suggestions.ts'

export type Parsed =
  | { readonly tag: 'run'; readonly command: CommandRow; readonly given: CommandArguments }
  /** The name of a command, a noun, or nothing for everything. */
  | { readonly tag: 'help'; readonly topic: string; readonly given: CommandArguments }
  | { readonly tag: 'version'; readonly given: CommandArguments }
  | { readonly tag: 'usage'; readonly detail: string; readonly topic: string; readonly given: CommandArguments }

export function parse(args: readonly string[], commands: readonly CommandRow[], common: readonly OptionRow[]): Parsed {
  const everywhere = [...common, ...commands.flatMap(({ options }) => options)]
  const { words, options } = tokensOf(args, everywhere)
  const isHelpWord = words[0] === 'help'
  const { command, topic, operands } = find(isHelpWord ? words.slice(1) : words, commands)
  const given = new CommandArguments(operands, valuesOf(options))
  const wrong = (detail: string): Parsed => ({ tag: 'usage', detail, topic, given })

  const known = command === undefined ? everywhere : [...common, ...command.options]
  const optionProblem = options.map((option) => optionProblemOf(option, known)).find((problem) => problem !== undefined)
  if (given.has('version')) return { tag: 'version', given }
  if (command === undefined && operands[0] !== undefined) return wrong(unknownCommand(topic, operands[0], commands))
  if (given.has('help') || isHelpWord) return { tag: 'help', topic, given }
  if (optionProblem !== undefined) return wrong(optionProblem)
  if (command === undefined) return wrong(topic === '' ? 'Name a command.' : `Say what to do with ${topic}.`)
  const operandProblem = operandProblemOf(operands, command)
  return operandProblem === undefined ? { tag: 'run', command, given } : wrong(operandProblem)
}

interface OptionToken {
  readonly name: string
  /** As typed: `--data`, `-q`. */
  readonly typed: string
  readonly value: string | undefined
  readonly isInline: boolean
}

function tokensOf(args: readonly string[], known: readonly OptionRow[]): { words: string[]; options: OptionToken[] } {
  const config = Object.fromEntries(
    known.map(({ name, short, value }) => {
      const type: 'string' | 'boolean' = value === undefined ? 'boolean' : 'string'
      return [name, { type, ...(short === undefined ? {} : { short }) }]
    }),
  )
  const { tokens } = parseArgs({
    args: [...args],
    options: config,
    strict: false,
    tokens: true,
    allowPositionals: true,
  })
  const words: string[] = []
  const options: OptionToken[] = []
  for (const token of tokens) {
    if (token.kind === 'positional') words.push(token.value)
    if (token.kind !== 'option') continue
    const { name, rawName: typed, value, inlineValue } = token
    options.push({ name, typed, value, isInline: inlineValue === true })
  }
  return { words, options }
}

interface FoundCommand {
  readonly command: CommandRow | undefined
  /** The command's name, or the noun as far as it is known. */
  readonly topic: string
  readonly operands: readonly string[]
}

function find(words: readonly string[], commands: readonly CommandRow[]): FoundCommand {
  for (const length of [2, 1]) {
    const name = words.slice(0, length).join(' ')
    const command = commands.find((row) => row.name === name)
    if (command !== undefined) return { command, topic: name, operands: words.slice(length) }
  }
  const [noun = ''] = words
  const isNoun = commands.some(({ name }) => name.startsWith(`${noun} `))
  return { command: undefined, topic: isNoun ? noun : '', operands: words.slice(isNoun ? 1 : 0) }
}

function valuesOf(options: readonly OptionToken[]): Map<string, string[]> {
  const values = new Map<string, string[]>()
  for (const { name, value } of options) values.set(name, [...(values.get(name) ?? []), value ?? ''])
  return values
}

function optionProblemOf(
  { name, typed, value, isInline }: OptionToken,
  known: readonly OptionRow[],
): string | undefined {
  const row = known.find((option) => option.name === name)
  if (row === undefined) {
    const near = findNearest(
      name,
      known.map((option) => option.name),
    )
    const meant = suggestOption(typed) ?? (near === undefined ? undefined : `--${near}`)
    return `There is no option ${typed} here${meant === undefined ? '.' : `; did you mean ${meant}?`}`
  }
  if (row.value === undefined) return isInline ? `${typed} takes no value.` : undefined
  // The next option is no value; a lone dash is, it stands for standard input.
  const isMissing = value === undefined || value === '' || (!isInline && /^-./.test(value))
  if (isMissing) return `${typed} needs a value: ${typed} ${row.value}.`
  if (row.choices === undefined || row.choices.includes(value)) return undefined
  return `${typed} is one of ${row.choices.join(', ')}; not ${value}.${suggestionFor(value, row.choices)}`
}

function operandProblemOf(operands: readonly string[], { name, operands: rows }: CommandRow): string | undefined {
  const missing = rows.slice(operands.length).find(({ required }) => required)
  if (missing !== undefined) return `cairn ${name} needs ${missing.name}: ${missing.does}`
  const extra = operands[rows.length]
  if (extra !== undefined && rows.at(-1)?.repeats !== true)
    return `cairn ${name} does not take ${JSON.stringify(extra)}.`
  for (const [index, { name: operand, choices }] of rows.entries()) {
    const value = operands[index]
    if (value === undefined || choices === undefined || choices.includes(value)) continue
    return `${operand} is one of ${choices.join(', ')}; not ${value}.${suggestionFor(value, choices)}`
  }
  return undefined
}

function unknownCommand(noun: string, word: string, commands: readonly CommandRow[]): string {
  const start = noun === '' ? '' : `${noun} `
  const words = commands.flatMap(({ name }) =>
    name.startsWith(start) ? [name.slice(start.length).split(' ')[0] ?? ''] : [],
  )
  const near = findNearest(word, [...new Set(words)])
  const typed = JSON.stringify(`${start}${word}`)
  const synonym = suggestCommand(`${start}${word}`)
  if (synonym !== undefined) return `There is no command ${typed}; ${synonym}${synonym.endsWith('?') ? '' : '.'}`
  return `There is no command ${typed}${near === undefined ? '.' : `; did you mean cairn ${start}${near}?`}`
}

function suggestionFor(word: string, known: readonly string[]): string {
  const near = findNearest(word, known)
  return near === undefined ? '' : ` Did you mean ${near}?`
}
