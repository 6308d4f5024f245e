/** Where the node of a command is: the flags say, else the environment, else the working directory. */
import type { Given } from './given.ts'

type Environment = Readonly<Record<string, string | undefined>>

const DATA_DEFAULT = './.cairn'

export function dataPath(given: Given, environment: Environment): string {
  return given.text('data') ?? environment['CAIRN_DATA'] ?? DATA_DEFAULT
}

export function tokenPath(given: Given, environment: Environment): string {
  return given.text('token-file') ?? `${dataPath(given, environment)}/admin.token`
}

/** How to name the same directory in the next command. */
export function dataFlag(given: Given): string {
  const data = given.text('data')
  return data === undefined ? '' : ` --data ${data}`
}
