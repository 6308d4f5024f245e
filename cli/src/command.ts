/** What a command is: a row of the table, what it is handed, and what it hands back. */
import type { CairnError } from '@cairn/kernel'
import type { Terminal } from './terminal.ts'

// Where the node of a command is: the flags say, else the environment, else the working directory.

type CliEnvironment = Readonly<Record<string, string | undefined>>

const DATA_DEFAULT = './.cairn'

export function dataPath(given: CommandArguments, environment: CliEnvironment): string {
  return given.text('data') ?? environment['CAIRN_DATA'] ?? DATA_DEFAULT
}

export function tokenPath(given: CommandArguments, environment: CliEnvironment): string {
  return given.text('token-file') ?? `${dataPath(given, environment)}/admin.token`
}

/** How to name the same directory in the next command. */
export function dataFlag(given: CommandArguments): string {
  const data = given.text('data')
  return data === undefined ? '' : ` --data ${data}`
}

/** What was typed after the name of a command, checked against its row. */
export class CommandArguments {
  readonly operands: readonly string[]
  readonly #values: ReadonlyMap<string, readonly string[]>

  constructor(operands: readonly string[], values: ReadonlyMap<string, readonly string[]>) {
    this.operands = operands
    this.#values = values
  }

  has(option: string): boolean {
    return this.#values.has(option)
  }

  /** The value given last. */
  text(option: string): string | undefined {
    return this.#values.get(option)?.at(-1)
  }

  /** Every value, in order. */
  texts(option: string): readonly string[] {
    return this.#values.get(option) ?? []
  }

  /** The same, as if these options had not been typed. */
  without(...options: readonly string[]): CommandArguments {
    const left = [...this.#values].filter(([name]) => !options.includes(name))
    return new CommandArguments(this.operands, new Map(left))
  }

  /** The same words again, as a shell takes them; an option of no value has none. */
  get line(): string {
    const options = [...this.#values].flatMap(([name, values]) =>
      values.map((value) => (value === '' ? ` --${name}` : ` --${name} ${shellWord(value)}`)),
    )
    return `${this.operands.map((word) => ` ${shellWord(word)}`).join('')}${options.join('')}`
  }
}

/** A word that a shell reads as this text. */
function shellWord(text: string): string {
  return /^[\w@%+=:,./…-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}

export interface OptionRow {
  /** Without dashes. The same name means the same thing in every command. */
  readonly name: string
  readonly short?: string
  /** What stands for the value in the help; an option without one is on or off. */
  readonly value?: string
  /** May be given more than once; otherwise the last one counts. */
  readonly repeats?: true
  /** The values there are, where they are few. */
  readonly choices?: readonly string[]
  readonly does: string
}

export interface OperandRow {
  readonly name: string
  readonly required: boolean
  /** May be given more than once; the last operand of a command only. */
  readonly repeats?: true
  readonly choices?: readonly string[]
  readonly does: string
}

export interface CommandRow {
  /** `status`, or noun and verb: `token mint`. */
  readonly name: string
  readonly summary: string
  readonly operands: readonly OperandRow[]
  readonly options: readonly OptionRow[]
  /** Whole command lines, each with what it is for. */
  readonly examples: readonly { readonly line: string; readonly does: string }[]
  /** Only the command that runs is loaded. */
  readonly load: () => Promise<CommandHandler>
}

export interface CommandContext {
  readonly given: CommandArguments
  readonly terminal: Terminal
  readonly commands: readonly CommandRow[]
  /** Says an outcome before the command ends; for those that go on after it. */
  readonly print: (outcome: CommandOutcome) => void
}

/** The outcome, or, from a command that has printed it already, the exit code. */
export type CommandHandler = (context: CommandContext) => Promise<CommandOutcome | number>

/** Both forms of the output and the exit code come from this one object, so that they cannot disagree. */
export interface CommandOutcome {
  /** `result` of `--json`. */
  readonly result: unknown
  /** What standard output carries without `--json`: data, and nothing but data. */
  readonly data?: string
  /** One line for the person who waits, on standard error; `-q` drops it. */
  readonly message?: string
  readonly warnings?: readonly string[]
  /** Commands that make sense now. */
  readonly next?: readonly string[]
  /** The command did its work, and the answer is no. */
  readonly error?: CairnError
}
