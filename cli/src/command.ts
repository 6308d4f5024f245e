/** What a command is: a row of the table, what it is handed, and what it hands back. */
import type { CairnError } from '@cairn/kernel'
import type { Given } from './given.ts'
import type { Terminal } from './terminal.ts'

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
  readonly load: () => Promise<Run>
}

export interface CommandContext {
  readonly given: Given
  readonly terminal: Terminal
  readonly commands: readonly CommandRow[]
  /** Says an outcome before the command ends; for those that go on after it. */
  readonly print: (outcome: Outcome) => void
}

/** The outcome, or, from a command that has printed it already, the exit code. */
export type Run = (context: CommandContext) => Promise<Outcome | number>

/** Both forms of the output and the exit code come from this one object, so that they cannot disagree. */
export interface Outcome {
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
