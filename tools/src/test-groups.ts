/**
 * The tests of one package run in one process, file after file: to start a process and compile what they all load costs
 * more than most of them do. Tests of the whole program, which start processes themselves, get one for each file.
 *
 *     packages/wire/src/a.test.ts ─┐
 *     packages/wire/src/b.prop.ts ─┴─▶ a file that imports both, each in a suite with its name
 *     verify/chaos/kill.test.ts ─────▶ itself
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/** Folders whose tests start no processes to speak of; the long ones among their files are campaigns. */
const TOGETHER = /^((?:packages|services)\/[^/]+|sdk|cli\/src|verify\/virtual|verify\/linear)\/.*\.(?:test|prop)\.ts$/

/** Where the files that import others are kept; no `.ts`, since Node strips no types below `node_modules`. */
const PLACE = 'node_modules/.cache/test-groups'

export interface TestGroups {
  /** What the runner is given, absolute. */
  readonly entries: readonly string[]
  /** What to print for an entry: its folder, or the file itself. */
  readonly names: ReadonlyMap<string, string>
}

/** Writes an entry for each folder that has several files. */
export function groupFiles(root: string, files: readonly string[]): TestGroups {
  const byFolder = Map.groupBy(files, (file) => TOGETHER.exec(file)?.[1] ?? file)
  const names = new Map<string, string>()
  rmSync(join(root, PLACE), { recursive: true, force: true })
  mkdirSync(join(root, PLACE), { recursive: true })
  const entries = Array.from(byFolder, ([folder, members]) => {
    const [only] = members
    if (only !== undefined && members.length === 1) return join(root, only)
    const entry = join(root, PLACE, `${folder.replaceAll('/', '-')}.mjs`)
    writeFileSync(entry, entrySource(root, members))
    names.set(entry, folder)
    return entry
  })
  // Groups take longest and begin first; then what is slow by itself, which `verify` mostly is.
  const isGroup = (entry: string): number => (names.has(entry) ? 0 : 1)
  return { entries: entries.sort((a, b) => isGroup(a) - isGroup(b) || (a < b ? 1 : -1)), names }
}

function entrySource(root: string, members: readonly string[]): string {
  const suites = members.map((member) => {
    const url = pathToFileURL(join(root, member)).href
    return `describe(${JSON.stringify(member)}, async () => {\n  await import(${JSON.stringify(url)})\n})\n`
  })
  return `import { describe } from 'node:test'\n\n${suites.join('\n')}`
}
