/**
 * `npm test [-- path…]` runs the unit and property tests of every package, or of the paths given.
 * `npm run verify:long [-- path…]` adds the long campaigns, gives every test its long setting
 * (CAIRN_LONG=1) and leaves a dated line in docs/verification.md.
 */
import { appendFileSync, existsSync, mkdirSync, rmSync } from 'node:fs'
import { availableParallelism, cpus } from 'node:os'
import { dirname, join, relative, sep } from 'node:path'
import { run } from 'node:test'
import type { TestEvent } from 'node:test/reporters'
import { findFiles } from './repository.ts'
import { groupFiles } from './test-groups.ts'
import { TestTally, type Verdict } from './test-tally.ts'

const PATTERNS: readonly string[] = ['**/*.test.ts', '**/*.prop.ts']
const LONG_PATTERNS: readonly string[] = [...PATTERNS, '**/*.long.ts']

/** A folder that takes longer hangs: `npm test` as a whole stays under five minutes. */
const FILE_TIMEOUT_MS = 300_000

const PRELOAD = new URL('test-preload.ts', import.meta.url).href

/** MiB for short-lived objects: a node in a test process lets it grow no more, and with one a fifth of the time is lost. */
const YOUNG_SPACE = '--min-semi-space-size=16'

const LONG_RECORD = 'docs/verification.md'
const LONG_RECORD_HEAD = `# Long verification runs

One line for each \`npm run verify:long\`, newest last.

| date | passed | failed | skipped | minutes | scope | node | machine | figures |
|---|--:|--:|--:|--:|---|---|---|---|
`

function selectFiles(root: string, patterns: readonly string[], filters: readonly string[]): string[] {
  const wanted = filters.map((filter) => filter.replace(/^\.\//, '').replace(/\/$/, ''))
  const isWanted = (file: string): boolean =>
    wanted.length === 0 || wanted.some((path) => file === path || file.startsWith(`${path}/`))
  return findFiles(patterns, root).filter(isWanted)
}

async function runFiles(root: string, files: readonly string[], isLong: boolean): Promise<Verdict> {
  const { entries, names, place } = groupFiles(root, files)
  const shorten = (path: string): string => names.get(path) ?? relative(root, path).split(sep).join('/')
  const tally = new TestTally(process.env['CI'] === 'true', shorten)
  const events: AsyncIterable<TestEvent> = run({
    files: [...entries],
    // Many tests wait for timers and processes of theirs: one more than there are processors keeps these busy.
    concurrency: availableParallelism() + 1,
    execArgv: ['--expose-gc', YOUNG_SPACE, '--import', PRELOAD],
    ...(isLong ? {} : { timeout: FILE_TIMEOUT_MS }),
  })
  for await (const event of events) process.stdout.write(tally.take(event))
  rmSync(place, { recursive: true, force: true })
  return tally.end()
}

function recordLongRun(root: string, filters: readonly string[], verdict: Verdict, elapsedMs: number): void {
  const path = join(root, LONG_RECORD)
  mkdirSync(dirname(path), { recursive: true })
  if (!existsSync(path)) appendFileSync(path, LONG_RECORD_HEAD)
  const { passed, failed, skipped } = verdict
  const figures = verdict.figures.join('<br>').replaceAll('|', '\\|').replaceAll('\n', ' ')
  const date = new Date().toISOString().slice(0, 10)
  const minutes = (elapsedMs / 60_000).toFixed(1)
  const machine = `${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}`
  const cells = [date, passed, failed, skipped, minutes, filters.join(' ') || 'all', process.version, machine, figures]
  appendFileSync(path, `| ${cells.join(' | ')} |\n`)
}

const isLong = process.argv.includes('--long')
const filters = process.argv.slice(2).filter((argument) => argument !== '--long')
if (isLong) process.env['CAIRN_LONG'] = '1'
const root = process.cwd()
// Every file is a process of its own and most load the same modules: compiling them once saves a third of a second each.
process.env['NODE_COMPILE_CACHE'] ??= join(root, 'node_modules/.cache/compile')
const files = selectFiles(root, isLong ? LONG_PATTERNS : PATTERNS, filters)
const startedAt = performance.now()
process.stdout.write(`node ${process.version}, ${files.length} test files\n`)
const verdict = await runFiles(root, files, isLong)
const elapsedMs = performance.now() - startedAt
if (isLong) recordLongRun(root, filters, verdict, elapsedMs)
process.stdout.write(`\nFinished in ${(elapsedMs / 1000).toFixed(1)} s.\n${verdict.text}`)
process.exitCode = verdict.ok ? 0 : 1
