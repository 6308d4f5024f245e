/** Documents rendered from the code: written by `npm run docs`, compared by a test, never edited by hand. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { REPOSITORY } from './repository.ts'

export interface GeneratedDoc {
  /** Where the document stands, from the repository's root. */
  readonly output: string
  readonly render: () => string | Promise<string>
}

/** Renders the document and writes it; true if that changed the file. */
export async function writeDoc(doc: GeneratedDoc, root: string = REPOSITORY): Promise<boolean> {
  const path = join(root, doc.output)
  const text = await doc.render()
  if (existsSync(path) && readFileSync(path, 'utf8') === text) return false
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
  return true
}

/** What the first line that differs says in the file and should say; undefined when the file is up to date. */
export async function differenceOf(doc: GeneratedDoc, root: string = REPOSITORY): Promise<string | undefined> {
  const path = join(root, doc.output)
  if (!existsSync(path)) return `${doc.output} does not exist. Run \`npm run docs\`.`
  return firstDifference(doc.output, readFileSync(path, 'utf8'), await doc.render())
}

function firstDifference(name: string, written: string, rendered: string): string | undefined {
  if (written === rendered) return undefined
  const [now, due] = [written.split('\n'), rendered.split('\n')]
  const line = due.findIndex((text, index) => text !== now[index])
  const index = line === -1 ? due.length : line
  return [
    `${name}:${index + 1} is out of date. Run \`npm run docs\`.`,
    `  the code says:     ${due[index] ?? '(nothing: the document ends)'}`,
    `  the document says: ${now[index] ?? '(nothing: the document ends)'}`,
  ].join('\n')
}
