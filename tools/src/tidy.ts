/** What no other tool looks at: links, names, stray machine paths, the shape of packages. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { findFiles, readManifests } from './repository.ts'
import {
  fileNameProblems,
  helpProblems,
  identifierProblems,
  proseProblems,
  textProblems as wordingProblems,
} from './words.ts'

/** The command README promises and continuous integration runs. */
const TEST_COMMAND = 'npm ci && npm test'

const TEXT: readonly string[] = ['**/*.{ts,json,md,yml,html,css,toml,sh}', '.ci/run', '.github/**/*.{md,yml}', '.npmrc']
const VAGUE_NAMES: readonly string[] = ['utils', 'util', 'helpers', 'helper', 'misc', 'common', 'shared']
/** A path or a host that exists on one machine only. */
const LOCAL_PLACE = /(?<![\w.~-])\/(?:home|Users|root|work)\/\w+|registry\.npmjs\.org/
/** Documents are for readers: what is said once need not be read twice. */
const DOCUMENTS_KIB_MAX = 300
/** What a user may be shown comes from here. */
const PRODUCT = /^(?:packages|services|node|cli|sdk)\/(?!(?:.*\/)?test\/|.*\.(?:test|prop|long)\.ts$)/
/** Generated from the texts of the help. */
const HELP = 'docs/COMMANDS.md'
/** Rows of a run, in the words of the tests they name. */
const RECORDS: readonly string[] = ['verify/sensitivity/results.md', 'verify/mutation/record.md']
/** Published test vectors. */
const VECTORS = 'verify/vectors'
const LINK = /\[[^\]]*\]\((?!\w+:|#)([^)#\s]+)[^)]*\)/g

/** Everything untidy below `root`, a sentence each, with the file and, where there is one, the line. */
export function tidyProblems(root: string): string[] {
  const files = findFiles(TEXT, root).filter((file) => !isForeign(file))
  return [
    ...files.flatMap((file) => textProblems(root, file)),
    ...folderProblems(files),
    ...vectorProblems(root),
    ...lockfileProblems(root),
    ...packageProblems(root),
    ...volumeProblems(root, files),
    ...commandProblems(root),
  ]
}

/** Written by a tool, or data of other projects kept as they published it. */
function isForeign(file: string): boolean {
  return file === 'package-lock.json' || (file.startsWith(`${VECTORS}/`) && file !== `${VECTORS}/README.md`)
}

function textProblems(root: string, file: string): string[] {
  const problems: string[] = []
  const text = readFileSync(join(root, file), 'utf8')
  const name = basename(file).split('.')[0] ?? ''
  if (VAGUE_NAMES.includes(name)) problems.push(`${file}: name the file after what it holds.`)
  if (text !== '' && !text.endsWith('\n')) problems.push(`${file}: the last line has no line end.`)
  problems.push(...wordProblems(file, text))
  for (const [index, line] of text.split('\n').entries()) {
    const place = `${file}:${index + 1}`
    if (LOCAL_PLACE.test(line)) problems.push(`${place}: names a place that exists on one machine only.`)
    if (/[ \t]$/.test(line)) problems.push(`${place}: white space at the end of the line.`)
    if (file.endsWith('.md')) problems.push(...linkProblems(root, file, place, line))
  }
  return problems
}

/** Of every folder on the way to a file, once. */
function folderProblems(files: readonly string[]): string[] {
  const folders = new Set<string>()
  for (const file of files) {
    for (let folder = dirname(file); folder !== '.'; folder = dirname(folder)) folders.add(folder)
  }
  return [...folders].flatMap((folder) => {
    const vague = VAGUE_NAMES.includes(basename(folder)) ? [`${folder}: name the folder after what it holds.`] : []
    return [...vague, ...fileNameProblems(folder)]
  })
}

/** Data of others: each folder has its row in the README, and its licence beside it unless it holds facts alone. */
function vectorProblems(root: string): string[] {
  const folder = join(root, VECTORS)
  if (!existsSync(folder)) return []
  const rows = readFileSync(join(folder, 'README.md'), 'utf8').split('\n')
  const sets = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  return sets.flatMap(({ name }) => {
    const row = rows.find((line) => line.startsWith(`| \`${name}\` |`))
    if (row === undefined) return [`${VECTORS}/${name}: say in the README where it is from.`]
    const isLicensed = row.includes('| facts |') || existsSync(join(folder, name, 'LICENSE'))
    return isLicensed ? [] : [`${VECTORS}/${name}: its licence is not beside it.`]
  })
}

function wordProblems(file: string, text: string): string[] {
  const problems = fileNameProblems(file)
  if (file.endsWith('.ts')) problems.push(...identifierProblems(file, text))
  if (file.endsWith('.ts') && PRODUCT.test(file)) problems.push(...wordingProblems(file, text))
  if (file.endsWith('.md') && !RECORDS.includes(file)) problems.push(...proseProblems(file, text))
  if (file === HELP) problems.push(...helpProblems(file, text))
  return problems
}

function volumeProblems(root: string, files: readonly string[]): string[] {
  const documents = files.filter((file) => file.startsWith('docs/') && file.endsWith('.md'))
  const bytes = documents.reduce((sum, file) => sum + statSync(join(root, file)).size, 0)
  if (bytes <= DOCUMENTS_KIB_MAX * 1024) return []
  return [
    `docs: ${Math.ceil(bytes / 1024)} KiB of Markdown; say once what is said twice, until it is ${DOCUMENTS_KIB_MAX} KiB.`,
  ]
}

function linkProblems(root: string, file: string, place: string, line: string): string[] {
  const targets = [...line.matchAll(LINK)].map((match) => match[1] ?? '')
  const dead = targets.filter((target) => !existsSync(join(root, dirname(file), decodeURI(target))))
  return dead.map((target) => `${place}: the link to ${target} leads nowhere.`)
}

interface LockEntry {
  readonly resolved?: string
  readonly integrity?: string
  readonly link?: boolean
}

function lockfileProblems(root: string): string[] {
  const path = join(root, 'package-lock.json')
  if (!existsSync(path)) return []
  const { packages } = JSON.parse(readFileSync(path, 'utf8')) as { packages: Record<string, LockEntry> }
  return Object.entries(packages).flatMap(([name, { resolved, integrity, link }]) => {
    const problems: string[] = []
    if (resolved?.startsWith('http') === true)
      problems.push(`package-lock.json: ${name} names the registry it came from; .npmrc asks npm to leave that out.`)
    if (name.includes('node_modules/') && link !== true && integrity === undefined)
      problems.push(
        `package-lock.json: ${name} has no integrity sum; pin a version whose packages can all be looked up.`,
      )
    return problems
  })
}

/** The index; a package that a browser loads a part of says which. Beside it what only tests use. */
const PUBLIC_ENTRIES: readonly string[] = [
  '{".":"./src/index.ts"}',
  '{".":{"browser":"./src/browser.ts","default":"./src/index.ts"}}',
  '{".":"./src/index.ts","./testing":"./src/testing.ts"}',
  '{".":{"browser":"./src/browser.ts","default":"./src/index.ts"},"./testing":"./src/testing.ts"}',
]

function packageProblems(root: string): string[] {
  return readManifests(root).flatMap(({ folder, exports }) => {
    if (!folder.startsWith('packages/') && !folder.startsWith('services/')) return []
    if (PUBLIC_ENTRIES.includes(JSON.stringify(exports))) return []
    return [
      `${folder}/package.json: the public entries are "exports": { ".": "./src/index.ts" } and, for tests, "./testing".`,
    ]
  })
}

function commandProblems(root: string): string[] {
  return ['README.md', '.ci/run'].flatMap((file) => {
    const path = join(root, file)
    if (existsSync(path) && readFileSync(path, 'utf8').includes(TEST_COMMAND)) return []
    return [`${file}: the test command is \`${TEST_COMMAND}\`; it must stand there as it is run.`]
  })
}
