import { readFileSync } from 'node:fs'

const VECTORS = new URL('../../../verify/vectors/', import.meta.url)

/** A file of published vectors as text. */
export function readVector(path: string): string {
  return readFileSync(new URL(path, VECTORS), 'utf8')
}

/** A file of published vectors as JSON. */
export function readJsonVector(path: string): unknown {
  return JSON.parse(readVector(path))
}
