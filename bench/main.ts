/** `npm run bench` lists the benches; `npm run bench kernel` runs a file of them, `npm run bench kernel/queue` one. */
import { appendFileSync, existsSync, globSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type BenchCase, measure, type Result } from './harness.ts'
import { describeMachine } from './machine.ts'
import { BENCHMARKS_HEAD, resultLine, resultSection } from './report.ts'

const ROUNDS = 9
const RECORD = new URL('../docs/benchmarks.md', import.meta.url)

/** Every case, by the name it is called with: its file's name, a slash, its own. */
async function loadCases(): Promise<Map<string, BenchCase>> {
  const folder = fileURLToPath(new URL('.', import.meta.url))
  const cases = new Map<string, BenchCase>()
  for (const file of globSync('*.bench.ts', { cwd: folder }).sort()) {
    const { CASES } = (await import(new URL(file, import.meta.url).href)) as { CASES: readonly BenchCase[] }
    for (const bench of CASES) cases.set(`${file.replace('.bench.ts', '')}/${bench.name}`, bench)
  }
  return cases
}

async function runCases(title: string, cases: readonly BenchCase[]): Promise<void> {
  const machine = describeMachine()
  process.stdout.write(`${machine}\n\n`)
  const results: Result[] = []
  for (const bench of cases) {
    const result = await measure(bench, ROUNDS, () => globalThis.gc?.())
    process.stdout.write(`${resultLine(result)}\n\n`)
    results.push(result)
  }
  if (!existsSync(RECORD)) appendFileSync(RECORD, BENCHMARKS_HEAD)
  const date = new Date().toISOString().slice(0, 10)
  appendFileSync(RECORD, resultSection(`${date}: ${title}`, machine, results))
}

const wanted = process.argv[2]
const cases = await loadCases()
const chosen = [...cases].filter(([name]) => name === wanted || name.startsWith(`${wanted}/`))
if (wanted !== undefined && chosen.length > 0) {
  await runCases(
    wanted,
    chosen.map(([, bench]) => bench),
  )
} else {
  if (wanted !== undefined) process.stdout.write(`There is no bench ${wanted}. `)
  process.stdout.write(`Benches:\n${[...cases.keys()].map((name) => `  ${name}\n`).join('')}`)
  process.exitCode = wanted === undefined ? 0 : 1
}
