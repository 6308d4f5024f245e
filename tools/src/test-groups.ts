/**
 * The tests of one folder run in one process, file after file: to start a process and load what they all load costs more
 * than most of them do.
 *
 *     packages/wire/src/a.test.ts ─┐
 *     packages/wire/src/b.prop.ts ─┴─▶ a file that imports both, each in a suite with its name
 *     bench/harness.test.ts ─────────▶ itself
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { pathToFileURL } from 'node:url'

/** What makes a folder. What is not named here stands alone, as the long ones among the files do: they are campaigns. */
const TOGETHER = new RegExp(
  [
    String.raw`^((?:packages|services|cli|verify/chaos)/[^/]+(?=/)`,
    String.raw`|sdk|node|tools|verify/(?:browser|chaos|linear|model|specs|virtual))/.*\.(?:test|prop)\.ts$`,
  ].join(''),
)

/** Where the files that import others are kept; no `.ts`, since Node strips no types below `node_modules`. */
const PLACE = 'node_modules/.cache/test-groups'

/** By the processor's time they take, longest first. */
const LONGEST: readonly string[] = [
  'verify/simulator',
  'cli/test',
  'node',
  'services/storage',
  'services/registry',
  'verify/model',
  'verify/story',
  'verify/chaos',
  'verify/browser',
]

export interface TestGroups {
  /** What the runner is given, absolute. */
  readonly entries: readonly string[]
  /** What to print for an entry: its folder, or the file itself. */
  readonly names: ReadonlyMap<string, string>
  /** Where entries were written; to be removed when they have run. */
  readonly place: string
}

/** Writes an entry for each folder that has several files, out of the way of any other run. */
export function groupFiles(root: string, files: readonly string[]): TestGroups {
  const byFolder = Map.groupBy(files, (file) => TOGETHER.exec(file)?.[1] ?? file)
  const names = new Map<string, string>()
  const place = join(root, PLACE, String(process.pid))
  mkdirSync(place, { recursive: true })
  const entries = Array.from(byFolder, ([folder, members]) => {
    const [only] = members
    if (only !== undefined && members.length === 1) return join(root, only)
    const entry = join(place, `${folder.replaceAll('/', '-')}.mjs`)
    writeFileSync(entry, entrySource(root, members))
    names.set(entry, folder)
    return entry
  })
  entries.sort((a, b) => turnOf(root, names, a) - turnOf(root, names, b) || (a < b ? 1 : -1))
  return { entries, names, place }
}

/** Those that take longest begin first, so that none of them is left alone at the end; packages are quick, and end it. */
function turnOf(root: string, names: ReadonlyMap<string, string>, entry: string): number {
  const name = names.get(entry) ?? relative(root, entry).split(sep).join('/')
  const at = LONGEST.findIndex((each) => name === each || name.startsWith(`${each}/`))
  if (at >= 0) return at
  return name.startsWith('packages/') ? LONGEST.length + 1 : LONGEST.length
}

function entrySource(root: string, members: readonly string[]): string {
  const suites = members.map((member) => {
    const url = pathToFileURL(join(root, member)).href
    return `describe(${JSON.stringify(member)}, async () => {\n  await import(${JSON.stringify(url)})\n})\n`
  })
  return `import { describe } from 'node:test'\n\n${suites.join('\n')}`
}
