/**
 * `npm test [-- path…]` runs the unit and property tests of every package, or of the paths given. Each test has its
 * limit of time, or that of `--limit SECONDS`. `npm test -- --apart` runs those that it leaves out otherwise.
 * `npm run verify:long [-- path…]` adds the long campaigns, gives every test its long setting (CAIRN_LONG=1) and ends
 * with what the campaigns counted; what is worth keeping of it is written into docs/verification.md by hand.
 */
import { rmSync } from 'node:fs'
import { availableParallelism, cpus } from 'node:os'
import { join, relative, sep } from 'node:path'
import { run } from 'node:test'
import type { TestEvent } from 'node:test/reporters'
import { parseArgs } from 'node:util'
import { findFiles } from './repository.ts'
import { guardRun } from './run-guard.ts'
import { testEnvironment } from './test-environment.ts'
import { groupFiles } from './test-groups.ts'
import { TestTally, type Verdict } from './test-tally.ts'

const PATTERNS: readonly string[] = ['**/*.test.ts', '**/*.prop.ts']
const LONG_PATTERNS: readonly string[] = [...PATTERNS, '**/*.long.ts']

/** Of one test that names none, so that what hangs is named. On a machine that does twenty things five seconds take a hundred. */
const LIMIT_SECONDS = 120
/** Of a folder: what hangs outside of its tests. */
const FILE_TIMEOUT_MS = 3_600_000
const LEFT_BEHIND = 'This process ran on when the tests had ended; it was killed.'

const PRELOAD = new URL('test-preload.ts', import.meta.url).href

/** MiB for short-lived objects: a node in a test process lets it grow no more, and with one a fifth of the time is lost. */
const YOUNG_SPACE = '--min-semi-space-size=16'

/**
 * What has a stage of its own in continuous integration, and otherwise runs when it is named or for long: a browser, a
 * model checker and what deploy/ is made for are installed apart, built packages are installed anew, and real nodes under load need the machine.
 */
const APART: readonly string[] = [
  'verify/browser',
  'verify/deploy',
  'verify/packages',
  'verify/specs',
  'verify/story',
  'verify/chaos/durability',
  'verify/chaos/kill-node.test.ts',
  'verify/chaos/interop/put-memory.test.ts',
  'cli/test/streaming-memory.test.ts',
]

interface Selection {
  readonly isLong: boolean
  readonly isApart: boolean
  /** Files, or folders with all that is in them. */
  readonly filters: readonly string[]
}

function selectFiles(root: string, { isLong, isApart, filters }: Selection): string[] {
  const wanted = filters.map((filter) => filter.replace(/^\.\//, '').replace(/\/$/, ''))
  const isIn = (file: string, paths: readonly string[]): boolean =>
    paths.some((path) => file === path || file.startsWith(`${path}/`))
  const isWanted = (file: string): boolean => {
    if (isApart) return isIn(file, APART)
    return wanted.length === 0 ? isLong || !isIn(file, APART) : isIn(file, wanted)
  }
  return findFiles(isLong ? LONG_PATTERNS : PATTERNS, root).filter(isWanted)
}

async function runFiles(root: string, files: readonly string[], isLong: boolean, limitMs: number): Promise<Verdict> {
  const guard = guardRun()
  const { directory, variables } = testEnvironment(guard, process.env)
  const { entries, names, place } = groupFiles(root, files)
  const shorten = (path: string): string => names.get(path) ?? relative(root, path).split(sep).join('/')
  const tally = new TestTally(process.env['CI'] === 'true', shorten)
  const events: AsyncIterable<TestEvent> = run({
    files: [...entries],
    // Many tests wait for timers and processes of theirs: one more than there are processors keeps these busy.
    concurrency: availableParallelism() + 1,
    execArgv: ['--expose-gc', YOUNG_SPACE, '--import', PRELOAD, ...(isLong ? [] : [`--test-timeout=${limitMs}`])],
    cwd: directory,
    env: variables,
    ...(isLong ? {} : { timeout: FILE_TIMEOUT_MS }),
  })
  for await (const event of events) process.stdout.write(tally.take(event))
  rmSync(place, { recursive: true, force: true })
  for (const left of await guard.close()) process.stdout.write(tally.fail(left, LEFT_BEHIND))
  return tally.end()
}

/** What a long run says of itself, to be taken over into a document. */
function describeLongRun(filters: readonly string[], { figures }: Verdict): string {
  const machine = `${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}`
  const date = new Date().toISOString().slice(0, 10)
  const head = `Long run of ${date}: ${filters.join(' ') || 'all'}, node ${process.version}, ${machine}.`
  return ['', head, ...figures.map((figure) => `  # ${figure}`), ''].join('\n')
}

const { values, positionals: filters } = parseArgs({
  options: {
    long: { type: 'boolean', default: false },
    apart: { type: 'boolean', default: false },
    limit: { type: 'string', default: String(LIMIT_SECONDS) },
  },
  allowPositionals: true,
})
const isLong = values.long
if (isLong) process.env['CAIRN_LONG'] = '1'
const root = process.cwd()
// Every file is a process of its own and most load the same modules: compiling them once saves a third of a second each.
process.env['NODE_COMPILE_CACHE'] ??= join(root, 'node_modules/.cache/compile')
const files = selectFiles(root, { isLong, isApart: values.apart, filters })
const startedAt = performance.now()
process.stdout.write(`node ${process.version}, ${files.length} test files\n`)
const verdict = await runFiles(root, files, isLong, Number(values.limit) * 1000)
const elapsedMs = performance.now() - startedAt
if (isLong) process.stdout.write(describeLongRun(filters, verdict))
process.stdout.write(`\nFinished in ${(elapsedMs / 1000).toFixed(1)} s.\n${verdict.text}`)
process.exitCode = verdict.ok ? 0 : 1
