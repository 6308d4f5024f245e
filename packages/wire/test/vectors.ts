import { existsSync, readFileSync } from 'node:fs'

const folder = new URL('../../../../shared/vectors/', import.meta.url)

/** Why tests over published vectors are skipped, or `false` where the vectors are beside the repository. */
export const vectorsMissing: string | false = existsSync(folder)
  ? false
  : 'published vectors are not beside this repository (../shared/vectors)'

/** A file of published vectors as text. */
export function readVector(path: string): string {
  return readFileSync(new URL(path, folder), 'utf8')
}

/** A file of published vectors as JSON. */
export function readJsonVector(path: string): unknown {
  return JSON.parse(readVector(path))
}
