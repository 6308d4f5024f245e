/** `cairn completion SHELL`: scripts made from the table, so that they cannot lag behind it. */
import type { CommandHandler, CommandRow, OptionRow } from './command.ts'
import { COMMON_OPTIONS } from './shared-options.ts'

export const completion: CommandHandler = async ({ given, commands }) => {
  const shell = given.operands[0] ?? ''
  const script = SCRIPTS[shell]?.(commands) ?? ''
  return await Promise.resolve({ result: { shell, script }, data: script })
}

const SCRIPTS: Readonly<Record<string, (commands: readonly CommandRow[]) => string>> = { bash, zsh, fish }

/** After the words on the left, these are what can come next. */
interface CompletionBranch {
  readonly typed: string
  readonly candidates: readonly string[]
}

function branches(commands: readonly CommandRow[]): CompletionBranch[] {
  const nouns = nounsOf(commands)
  const first = [...new Set(commands.map(({ name }) => name.split(' ')[0] ?? ''))]
  return [
    { typed: '', candidates: [...first, ...longNames(COMMON_OPTIONS)] },
    ...nouns.map((noun) => ({ typed: ` ${noun}`, candidates: verbsOf(noun, commands) })),
    ...commands.map(({ name, operands, options }) => ({
      typed: ` ${name}`,
      candidates: [...operands.flatMap(({ choices = [] }) => choices), ...longNames([...options, ...COMMON_OPTIONS])],
    })),
  ]
}

function bash(commands: readonly CommandRow[]): string {
  const options = allOptions(commands)
  const chosen = options.filter(({ choices }) => choices !== undefined)
  return `_cairn() {
  local typed= words= index word=\${COMP_WORDS[COMP_CWORD]}
  for ((index = 1; index < COMP_CWORD; index++)); do
    case \${COMP_WORDS[index]} in
      ${withValue(options).join('|')}) ((index++)) ;;
      -*) ;;
      *) typed="$typed \${COMP_WORDS[index]}" ;;
    esac
  done
  case \${COMP_WORDS[COMP_CWORD - 1]} in
${chosen.map(({ name, choices = [] }) => `    --${name}) words='${choices.join(' ')}' ;;`).join('\n')}
    ${withValue(options.filter((option) => !chosen.includes(option))).join('|')}) return ;;
    *) case $typed in
${branches(commands)
  .map(({ typed, candidates: words }) => `      '${typed}') words='${words.join(' ')}' ;;`)
  .join('\n')}
    esac ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _cairn cairn
`
}

function zsh(commands: readonly CommandRow[]): string {
  const options = allOptions(commands)
  const chosen = options.filter(({ choices }) => choices !== undefined)
  return `#compdef cairn
_cairn() {
  local typed= index
  for ((index = 2; index < CURRENT; index++)); do
    case $words[index] in
      ${withValue(options).join('|')}) ((index++)) ;;
      -*) ;;
      *) typed="$typed $words[index]" ;;
    esac
  done
  case $words[CURRENT-1] in
${chosen.map(({ name, choices = [] }) => `    --${name}) compadd -- ${choices.join(' ')} ;;`).join('\n')}
    ${withValue(options.filter((option) => !chosen.includes(option))).join('|')}) _files ;;
    *) case $typed in
${branches(commands)
  .map(({ typed, candidates: words }) => `      '${typed}') compadd -- ${words.join(' ')} ;;`)
  .join('\n')}
      *) _files ;;
    esac ;;
  esac
}
compdef _cairn cairn
`
}

function fish(commands: readonly CommandRow[]): string {
  const lines = [
    ...nounsOf(commands).map((noun) => escapeWord('__fish_use_subcommand', noun, '')),
    ...commands.map(({ name, summary }) => {
      const [first = '', verb] = name.split(' ')
      if (verb === undefined) return escapeWord('__fish_use_subcommand', first, summary)
      const others = verbsOf(first, commands).join(' ')
      return escapeWord(
        `__fish_seen_subcommand_from ${first}; and not __fish_seen_subcommand_from ${others}`,
        verb,
        summary,
      )
    }),
    ...commands.flatMap(({ name, operands, options }) => {
      const seen = name
        .split(' ')
        .map((part) => `__fish_seen_subcommand_from ${part}`)
        .join('; and ')
      const choices = operands.flatMap((operand) => operand.choices ?? [])
      return [
        ...choices.map((choice) => escapeWord(seen, choice, '')),
        ...options.map((option) => fishOption(option, seen)),
      ]
    }),
    ...COMMON_OPTIONS.map((option) => fishOption(option)),
  ]
  return `${lines.join('\n')}\n`
}

function escapeWord(condition: string, text: string, does: string): string {
  return `complete -c cairn -n '${condition}' -a ${text}${does === '' ? '' : ` -d ${quoted(does)}`}`
}

function fishOption({ name, short, value, choices, does }: OptionRow, condition?: string): string {
  return [
    'complete -c cairn',
    ...(condition === undefined ? [] : [`-n '${condition}'`]),
    ...(short === undefined ? [] : [`-s ${short}`]),
    `-l ${name}`,
    ...(value === undefined ? [] : ['-r']),
    ...(choices === undefined ? [] : [`-f -a ${quoted(choices.join(' '))}`]),
    `-d ${quoted(does)}`,
  ].join(' ')
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}

function nounsOf(commands: readonly CommandRow[]): string[] {
  return [...new Set(commands.flatMap(({ name }) => (name.includes(' ') ? [name.split(' ')[0] ?? ''] : [])))]
}

function verbsOf(noun: string, commands: readonly CommandRow[]): string[] {
  return commands.flatMap(({ name }) => (name.startsWith(`${noun} `) ? [name.slice(noun.length + 1)] : []))
}

/** Each once: an option means the same in every command. */
function allOptions(commands: readonly CommandRow[]): OptionRow[] {
  const all = [...COMMON_OPTIONS, ...commands.flatMap(({ options }) => options)]
  return [...new Map(all.map((option) => [option.name, option])).values()]
}

function withValue(options: readonly OptionRow[]): string[] {
  return longNames(options.filter(({ value }) => value !== undefined))
}

function longNames(options: readonly OptionRow[]): string[] {
  return options.map(({ name }) => `--${name}`)
}
