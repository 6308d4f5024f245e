/**
 * Ends what a run of tests has started, even when the run itself is killed.
 *
 *     runner ──pipe──▶ guard, in a session of its own
 *       │                │ the pipe closes: the run is over, or dead
 *       ├─ tests         ▼
 *       └─ nodes   every process with the run's mark in its environment is killed, the run's directory removed
 *
 * A signal handler could not do it: SIGKILL has none, and a process group ends at a child with a group of its own.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

/** The variable every process of a run has. No name with `CAIRN_`: those are configuration. */
export const MARK = 'TEST_RUN'
const GUARD = fileURLToPath(new URL('run-guard-process.ts', import.meta.url))

export interface RunGuard {
  /** Removed at the end of the run. */
  readonly directory: string
  /** To be set in the environment of every process that is started. */
  readonly environment: Readonly<Record<string, string>>
  /** Ends the run; the processes that had to be killed, a line for each. */
  close(): Promise<readonly string[]>
}

export function guardRun(): RunGuard {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'cairn-run-')))
  const environment = { [MARK]: directory }
  const guard = spawn(process.execPath, [GUARD, `${MARK}=${directory}`, directory], {
    detached: true,
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { PATH: process.env['PATH'] },
  })
  // The run may end before the guard has started.
  guard.stdin.on('error', () => {})
  guard.unref()
  return {
    directory,
    environment,
    close: async () => {
      const ended = once(guard, 'close')
      guard.ref()
      guard.stdin.end('over')
      const [said] = await Promise.all([text(guard.stdout), ended])
      return said.split('\n').filter((line) => line !== '')
    },
  }
}
