/** What a person reads when a node cannot start: the cause, and the next command. */
import type { CairnError } from '@cairn/kernel'

interface Screen {
  readonly exitCode: number
  readonly next: string
}

/** By error code; exit codes are part of the interface. */
const SCREENS: Readonly<Record<string, Screen>> = {
  usage: { exitCode: 2, next: 'npx cairn start --help' },
  config: { exitCode: 2, next: 'npx cairn config validate' },
  cannot_listen: { exitCode: 5, next: 'npx cairn stop, or choose other ports: npx cairn start --port-base 8070' },
  data_locked: { exitCode: 5, next: 'npx cairn status' },
  data_format: { exitCode: 8, next: 'start the newer cairn, or use another directory: npx cairn start --data DIR' },
  data_foreign: { exitCode: 8, next: 'npx cairn start --data DIR' },
  integrity: { exitCode: 4, next: 'restore the data directory from a backup' },
  no_space: { exitCode: 1, next: 'free some space, or use another drive: npx cairn start --data DIR' },
}

export function failureScreen(error: CairnError): { text: string; exitCode: number } {
  const { exitCode, next } = SCREENS[error.code] ?? { exitCode: 1, next: '' }
  const cause = error.code === 'internal' && error.cause instanceof Error ? `${error.cause.stack ?? ''}\n` : ''
  const hint = next === '' ? '' : `  Next:  ${next}\n`
  return { text: `✖ cairn did not start\n  ${error.message.replaceAll('\n', '\n  ')}\n${cause}${hint}`, exitCode }
}
