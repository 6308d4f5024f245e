/** `npm run bench` lists the benches; `npm run bench kernel` runs a file of them, `npm run bench kernel/queue` one, several names several; `--record` writes the rows of docs/benchmarks.md. */
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type BenchCase, measure, type Result } from './harness.ts'
import { describeMachine } from './machine.ts'
import { recordResults, resultLine } from './report.ts'

const ROUNDS = 9
const RECORD = new URL('../docs/benchmarks.md', import.meta.url)

interface BenchFile {
  readonly CASES: readonly BenchCase[]
  /** Cases that cannot run on this machine, and why. */
  readonly SKIPPED?: ReadonlyMap<string, string>
  /** Ends what the cases started. */
  readonly close?: () => Promise<void>
}

/** Every case, by the name it is called with: its file's name, a slash, its own. */
interface Loaded {
  readonly cases: Map<string, BenchCase>
  readonly skipped: Map<string, string>
  readonly closings: (() => Promise<void>)[]
}

async function loadCases(): Promise<Loaded> {
  const folder = fileURLToPath(new URL('.', import.meta.url))
  const loaded: Loaded = { cases: new Map(), skipped: new Map(), closings: [] }
  for (const file of globSync('*.bench.ts', { cwd: folder }).sort()) {
    const { CASES, SKIPPED, close } = (await import(new URL(file, import.meta.url).href)) as BenchFile
    const prefix = file.replace('.bench.ts', '')
    for (const bench of CASES) loaded.cases.set(`${prefix}/${bench.name}`, bench)
    for (const [name, reason] of SKIPPED ?? []) loaded.skipped.set(`${prefix}/${name}`, reason)
    if (close !== undefined) loaded.closings.push(close)
  }
  return loaded
}

async function runCases(cases: ReadonlyMap<string, BenchCase>, isRecorded: boolean): Promise<void> {
  const machine = describeMachine()
  process.stdout.write(`${machine}\n\n`)
  const results = new Map<string, Result>()
  for (const [name, bench] of cases) {
    const result = await measure(bench, ROUNDS, () => globalThis.gc?.())
    process.stdout.write(`${resultLine(result)}\n\n`)
    results.set(name, result)
  }
  if (!isRecorded || results.size === 0) return
  const text = existsSync(RECORD) ? readFileSync(RECORD, 'utf8') : ''
  writeFileSync(RECORD, recordResults(text, new Date().toISOString().slice(0, 10), machine, results))
}

function tellSkipped(skipped: readonly (readonly [string, string])[]): void {
  for (const [name, reason] of skipped) process.stdout.write(`skipped ${name}: ${reason}\n`)
  if (skipped.length > 0) process.stdout.write(`${skipped.length} skipped\n`)
}

const isRecorded = process.argv.includes('--record')
const wanted = process.argv.slice(2).filter((argument) => argument !== '--record')
const { cases, skipped, closings } = await loadCases()
const isWanted = ([name]: readonly [string, unknown]): boolean =>
  wanted.some((each) => name === each || name.startsWith(`${each}/`))
const chosen = [...cases].filter(isWanted)
const passedOver = [...skipped].filter(isWanted)
if (chosen.length + passedOver.length > 0) {
  try {
    await runCases(new Map(chosen), isRecorded)
    tellSkipped(passedOver)
  } finally {
    for (const close of closings) await close()
  }
} else {
  if (wanted.length > 0) process.stdout.write(`There is no bench ${wanted.join(', ')}. `)
  process.stdout.write(`Benches:\n${[...cases.keys()].map((name) => `  ${name}\n`).join('')}`)
  tellSkipped([...skipped])
  process.exitCode = wanted.length === 0 ? 0 : 1
}
