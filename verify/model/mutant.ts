/**
 * Mutants: a model that cannot fail proves nothing. For each model the production source is broken by one
 * edit, in a copy, and the checker must find it.
 *
 *     packages/kernel/src ──copy──▶ <temporary>/src ──edit one line──▶ import ──▶ the same model ──▶ a fault
 */
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

export interface Mutant {
  /** What the edit breaks, in a few words. */
  readonly name: string
  /** The source file, relative to the package's `src`. */
  readonly file: string
  /** Text that occurs exactly once in the file, so the edit cannot silently miss. */
  readonly find: string
  readonly replace: string
  /** The fault that the checker must report. */
  readonly expect: string
  /** The model known to show it, which is asked first: where many do not show it, to explore them takes long. */
  readonly model?: string
}

/** Breaks a copy of the package source, hands its directory to `use`, and removes it again. */
export async function withMutant<T>(source: URL, mutant: Mutant, use: (source: URL) => Promise<T>): Promise<T> {
  const directory = await mkdtemp(join(tmpdir(), 'cairn-mutant-'))
  try {
    const copy = join(directory, 'src')
    await cp(source, copy, { recursive: true })
    await writeFile(join(directory, 'package.json'), '{ "type": "module" }')
    await symlink(fileURLToPath(new URL('../../node_modules', import.meta.url)), join(directory, 'node_modules'))
    const file = join(copy, mutant.file)
    await writeFile(file, applyMutant(await readFile(file, 'utf8'), mutant))
    return await use(pathToFileURL(`${copy}/`))
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

/** The edited text; refuses an edit that matches nowhere or more than once. */
export function applyMutant(text: string, { file, find, replace }: Mutant): string {
  if (`${find}${replace}`.includes('\n')) throw new Error(`The mutant of ${file} edits more than one line.`)
  const parts = text.split(find)
  if (parts.length !== 2) throw new Error(`The mutant's text occurs ${parts.length - 1} times in ${file}: ${find}`)
  return parts.join(replace)
}

/** The edit as a diff, for the test's output. */
export async function diffOf(source: URL, mutant: Mutant): Promise<string> {
  const before = await readFile(new URL(mutant.file, source), 'utf8')
  const after = applyMutant(before, mutant).split('\n')
  const line = before.split('\n').findIndex((text, at) => text !== after[at])
  return [
    `mutant: ${mutant.name}`,
    `  ${mutant.file}:${line + 1}`,
    `  - ${before.split('\n')[line]?.trim() ?? ''}`,
    `  + ${after[line]?.trim() ?? ''}`,
  ].join('\n')
}
