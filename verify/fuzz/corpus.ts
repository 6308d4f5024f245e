/** Inputs kept from one campaign to the next: a file for each target, base64 line by line, the shortest first. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'

export type Kept = 'corpus' | 'crashers'

export function fileOf(kind: Kept, target: string): URL {
  return new URL(`${kind}/${target}.txt`, import.meta.url)
}

export function readInputs(kind: Kept, target: string): Uint8Array[] {
  const file = fileOf(kind, target)
  if (!existsSync(file)) return []
  const lines = readFileSync(file, 'utf8').split('\n')
  return lines.slice(0, -1).map((line) => Uint8Array.from(Buffer.from(line, 'base64')))
}

export function writeInputs(kind: Kept, target: string, inputs: readonly Uint8Array[]): void {
  const lines = new Set(inputs.map((input) => Buffer.from(input).toString('base64')))
  const sorted = [...lines].sort((a, b) => a.length - b.length || (a < b ? -1 : 1))
  // A clone has no folder for what was never found.
  mkdirSync(new URL('.', fileOf(kind, target)), { recursive: true })
  writeFileSync(fileOf(kind, target), sorted.map((line) => `${line}\n`).join(''))
}
