/**
 * What a test process finds around it: an empty home and working directory, and of the environment only what is listed
 * here. A node in the clone, its `.cairn` and `cairn.toml`, keys in the home or settings in the shell are not seen.
 */
import { mkdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { RunGuard } from './run-guard.ts'

/** How programs are found and started; what npm was told; continuous integration. */
const PASSED_ON =
  /^(?:PATH|LANG|USER|SHELL|CI|JAVA_HOME|SystemRoot|NODE_COMPILE_CACHE|npm_config_\w+|TMPDIR|TEMP|TMP)$/i

/** Settings of the tests themselves. */
const SETTINGS: readonly string[] = [
  'CAIRN_LONG',
  'CAIRN_SCREENS',
  'CAIRN_SCREENSHOTS',
  'CAIRN_KAD_NODES',
  'CAIRN_KAD_OBJECTS',
  'CAIRN_MUTATION',
]

/** The preload gives each process that starts here a directory of its own. */
export const START_DIRECTORY = 'TEST_START_DIRECTORY'

export interface TestEnvironment {
  readonly directory: string
  readonly variables: Record<string, string>
}

export function testEnvironment(guard: RunGuard, inherited: NodeJS.ProcessEnv): TestEnvironment {
  const [home, directory] = [join(guard.directory, 'home'), join(guard.directory, 'cwd')]
  mkdirSync(home)
  mkdirSync(directory)
  const passed = Object.entries(inherited).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && isPassedOn(entry[0]),
  )
  const variables = {
    ...Object.fromEntries(passed),
    HOME: home,
    USERPROFILE: home,
    // Programs that were installed for the tests lie there, and nothing of the user's.
    XDG_CACHE_HOME: inherited['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'),
    ...temporary(guard.directory),
    ...guard.environment,
    [START_DIRECTORY]: directory,
  }
  return { directory, variables }
}

function isPassedOn(name: string): boolean {
  return PASSED_ON.test(name) || SETTINGS.includes(name)
}

/** Temporary files end with the run; elsewhere than on Linux the path of a socket in there would become too long. */
function temporary(directory: string): Record<string, string> {
  return process.platform === 'linux' ? { TMPDIR: directory } : {}
}
