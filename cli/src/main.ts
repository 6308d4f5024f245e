/** `cairn …`: from the words of a command line to an exit code. */
import type { CommandContext, CommandOutcome, CommandRow } from './command.ts'
import { parse } from './parse.ts'
import { Printer } from './print.ts'
import { COMMON_OPTIONS } from './shared-options.ts'
import { COMMANDS } from './table.ts'
import { systemTerminal, type Terminal } from './terminal.ts'

/** Runs one command; everything it has to say has been said when this resolves. */
export async function main(args: readonly string[], terminal: Terminal = systemTerminal()): Promise<number> {
  const parsed = parse(args, COMMANDS, COMMON_OPTIONS)
  const { given } = parsed
  switch (parsed.tag) {
    case 'run':
      return await run(parsed.command, new Printer(terminal, given, parsed.command.name), { given, terminal })
    case 'help': {
      const { renderHelp } = await import('./help.ts')
      const text = renderHelp(parsed.topic, terminal.isDataWatched ? terminal.columns : undefined)
      return new Printer(terminal, given, 'help').outcome({ result: { text }, data: text })
    }
    case 'version': {
      const { default: manifest } = await import('../package.json', { with: { type: 'json' } })
      const { version } = manifest
      return new Printer(terminal, given, 'version').outcome({ result: { version }, data: `${version}\n` })
    }
    case 'usage':
      return new Printer(terminal, given, parsed.topic).failure({
        kind: 'Malformed',
        code: 'usage',
        message: parsed.detail,
        cause: undefined,
      })
  }
}

async function run(
  command: CommandRow,
  printer: Printer,
  common: Pick<CommandContext, 'given' | 'terminal'>,
): Promise<number> {
  try {
    const body = await command.load()
    const print = (outcome: CommandOutcome): void => {
      printer.outcome(outcome)
    }
    const outcome = await body({ ...common, commands: COMMANDS, print })
    return typeof outcome === 'number' ? outcome : printer.outcome(outcome)
  } catch (error) {
    const { toCairnError } = await import('@cairn/kernel')
    return printer.failure(toCairnError(error))
  }
}
