/**
 * `npm run mutation -- tlog` plants faults in packages/tlog one by one and counts those its tests find. `--state DIR`
 * keeps what is known between runs, `--seconds N` stops after so long, `--file PART` takes only sources with this in
 * their path, and `--record` writes the figures to record.md. A run that is cut short has tried a sample of all.
 */
import { appendFileSync, existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { renderRecord, renderRow, renderSurvivors, type Tried } from './report.ts'
import { type DryRun, digest, findMutants, MutationRun, type Outcome, runDry } from './runner.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const RECORD = join(ROOT, 'verify/mutation/record.md')
const TESTS = /\.(test|prop|long)\.ts$/

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    state: { type: 'string', default: join(tmpdir(), 'cairn-mutation') },
    seconds: { type: 'string', default: '3600' },
    file: { type: 'string', default: '' },
    record: { type: 'boolean', default: false },
  },
})

function find(pattern: string): string[] {
  return globSync(pattern, { cwd: ROOT }).sort()
}

function readOutcomes(path: string): Map<string, Outcome> {
  const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n') : []
  const outcomes = lines.filter((line) => line.endsWith('}')).map((line) => JSON.parse(line) as Outcome)
  return new Map(outcomes.map((outcome) => [outcome.key, outcome]))
}

async function tryPackage(name: string, isOver: () => boolean): Promise<Tried[]> {
  const files = find(`packages/${name}/**/*.ts`)
  const sources = files.filter((file) => file.startsWith(`packages/${name}/src/`) && !TESTS.test(file))
  const testFiles = files.filter((file) => TESTS.test(file) && !file.endsWith('.long.ts'))
  const mutants = findMutants(ROOT, sources)
  const version = digest(files.map((file) => readFileSync(join(ROOT, file), 'utf8')))
  const dryPlace = join(values.state, `${name}-${version}.json`)
  const dry: DryRun = existsSync(dryPlace)
    ? (JSON.parse(readFileSync(dryPlace, 'utf8')) as DryRun)
    : await runDry(ROOT, mutants, testFiles)
  writeFileSync(dryPlace, JSON.stringify(dry))
  for (const test of dry.leftOut) process.stdout.write(`left out: ${test}\n`)
  const place = join(values.state, `${name}.jsonl`)
  const known = readOutcomes(place)
  const record = (outcome: Outcome): void => {
    known.set(outcome.key, outcome)
    appendFileSync(place, `${JSON.stringify(outcome)}\n`)
  }
  const wanted = sources.filter((file) => file.includes(values.file))
  const campaign = { root: ROOT, sources: wanted, testFiles, version, known, record, isOver }
  await new MutationRun(campaign, mutants, dry).run()
  return mutants.map((mutant) => ({ mutant, status: known.get(mutant.key)?.status ?? 'untried' }))
}

mkdirSync(values.state, { recursive: true })
const startedAt = performance.now()
const isOver = (): boolean => performance.now() - startedAt > Number(values.seconds) * 1000
for (const name of positionals) {
  const tried = await tryPackage(name, isOver)
  const row = renderRow(name, new Date().toISOString().slice(0, 10), tried)
  const survivors = renderSurvivors(tried.filter(({ mutant }) => mutant.file.includes(values.file)))
  process.stdout.write(`${survivors}\n\n${row}\n`)
  const untried = tried.filter(({ status }) => status === 'untried').length
  if (untried > 0) process.stdout.write(`${untried} untried\n`)
  if (values.record) writeFileSync(RECORD, renderRecord(readFileSync(RECORD, 'utf8'), name, row))
}
