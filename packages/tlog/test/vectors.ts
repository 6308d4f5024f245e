import { readdirSync, readFileSync } from 'node:fs'

const VECTORS = new URL('../../../verify/vectors/', import.meta.url)

/** Every JSON file below a folder of the published vectors, by its path. */
export function readVectors<T>(folder: string): [string, T][] {
  const root = new URL(`${folder}/`, VECTORS)
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.json'))
    .sort()
    .map((path) => [path, JSON.parse(readFileSync(new URL(encodeURI(path), root), 'utf8')) as T])
}
