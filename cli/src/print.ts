/** How every outcome and every failure is said: one JSON object, or data on one stream and words on the other. */
import type { CairnError } from '@cairn/kernel'
import { type CommandArguments, type CommandOutcome, dataFlag, tokenPath } from './command.ts'
import { EXIT_CODES, exitCodeOf } from './exit-codes.ts'
import { nextSteps } from './next-steps.ts'
import { mark, type Terminal } from './terminal.ts'
import { asCalled, escapeControls, escapeControlsInLines, wrapText } from './terminal-text.ts'

/** Failures are known by their code here, so that the help and usage screens need no class of error. */
export type Failure = Pick<CairnError, 'kind' | 'code' | 'message' | 'cause'>

export class Printer {
  readonly #terminal: Terminal
  readonly #args: CommandArguments
  readonly #command: string

  /** For a command, a noun, or nothing where there was neither. */
  constructor(terminal: Terminal, given: CommandArguments, command: string) {
    this.#terminal = terminal
    this.#args = given
    this.#command = command
  }

  /** Says the outcome; returns the exit code. */
  outcome({ result, data = '', message, warnings = [], next = [], error }: CommandOutcome): number {
    if (this.#args.has('json')) {
      this.#json({
        ok: error === undefined,
        result,
        error: error === undefined ? null : described(error),
        warnings,
        next: next.map((step) => asCalled(step)),
      })
    } else {
      this.#terminal.write(escapeControlsInLines(data))
      if (!this.#args.has('quiet')) this.#notes(message, warnings, error === undefined ? next : [])
      if (error !== undefined) this.#screen(error, next)
    }
    return error === undefined ? EXIT_CODES.ok.code : exitCodeOf(error)
  }

  /** Says what went wrong and what to type next; returns the exit code. */
  failure(failure: Failure): number {
    const next = nextSteps(failure.code, {
      command: this.#command,
      args: this.#args,
      dataFlag: dataFlag(this.#args),
      tokenFile: tokenPath(this.#args, this.#terminal.environment),
    })
    if (this.#args.has('json'))
      this.#json({
        ok: false,
        result: null,
        error: described(failure),
        warnings: [],
        next: next.map((step) => asCalled(step)),
      })
    else this.#screen(failure, next)
    return exitCodeOf(failure)
  }

  #notes(message: string | undefined, warnings: readonly string[], next: readonly string[]): void {
    const lines = warnings.map((warning) => `${this.#mark('open')} ${this.#sentence(warning)}\n`)
    if (message !== undefined) lines.push(`${this.#mark('good')} ${this.#sentence(message)}\n`)
    this.#terminal.say([...lines, ...nextLines(next)].join(''))
  }

  #screen({ message, code, cause }: Failure, next: readonly string[]): void {
    const stack = code === 'internal' && cause instanceof Error ? `${cause.stack ?? ''}\n` : ''
    const text = `${this.#mark('bad')} ${this.#sentence(message.replaceAll('\n', '\n  '))}\n${escapeControlsInLines(stack)}`
    this.#terminal.say([text, ...nextLines(next)].join(''))
  }

  #json(fields: Readonly<Record<string, unknown>>): void {
    const name = this.#command === '' ? 'usage' : this.#command.replaceAll(' ', '.')
    this.#terminal.write(`${JSON.stringify({ schema: `cairn.${name}/1`, ...fields })}\n`)
  }

  /** Beside a mark, which takes two columns. */
  #sentence(text: string): string {
    const { columns } = this.#terminal
    return wrapText(escapeControlsInLines(asCalled(text)), columns === undefined ? undefined : columns - 2, '  ')
  }

  #mark(kind: 'good' | 'bad' | 'open'): string {
    return mark(kind, isColoured(this.#terminal, this.#args))
  }
}

/** Whether messages may have colours. */
function isColoured({ isWatched, environment }: Terminal, given: CommandArguments): boolean {
  return isWatched && !given.has('no-color') && (environment['NO_COLOR'] ?? '') === ''
}

function described({ kind, code, message }: Failure): Readonly<Record<string, unknown>> {
  return { code, kind, detail: message, exit_code: exitCodeOf({ kind, code }) }
}

function nextLines(next: readonly string[]): string[] {
  return next.map((step, index) => `  ${index === 0 ? 'Next:' : '  or:'}  ${escapeControls(asCalled(step))}\n`)
}
