import { existsSync, readdirSync, readFileSync } from 'node:fs'

const VECTORS = new URL('../../../../shared/vectors/', import.meta.url)

/** Why a test of published vectors cannot run, or false. */
export const VECTORS_MISSING = existsSync(VECTORS)
  ? false
  : 'published vectors are not beside this repository (../shared/vectors)'

/** Every JSON file below a folder of the published vectors, by its path. */
export function readVectors<T>(folder: string): [string, T][] {
  const root = new URL(`${folder}/`, VECTORS)
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.json'))
    .sort()
    .map((path) => [path, JSON.parse(readFileSync(new URL(encodeURI(path), root), 'utf8')) as T])
}
