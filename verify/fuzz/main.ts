/**
 * `npm run fuzz` lists the targets; `npm run fuzz -- --minutes 5 token cbor` fuzzes these for so much processor time each, `all` for
 * every one. What it learns is kept in corpus/, what it finds in crashers/, and the record in record.md.
 * `npm run fuzz -- --missed token` tells which source nothing kept has reached.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { fileOf, readInputs, writeInputs } from './corpus.ts'
import { Coverage } from './coverage.ts'
import { type FuzzReport, type FuzzTarget, fuzz } from './fuzzer.ts'
import { type FuzzRecord, readRecord, renderRecord } from './record.ts'
import { loadTargets, TARGET_NAMES } from './targets.ts'
import { Watchdog } from './watchdog.ts'

const RECORD = new URL('record.md', import.meta.url)
const MINUTE_MS = 60_000
/** No input takes so long beside whatever else; one that took more than a second has been found before. */
const DEADLINE_MS = MINUTE_MS

/** Processor time, so that a minute beside other work is a minute too. */
function spentMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

function remember(target: string, minutes: number, report: FuzzReport): void {
  writeInputs('corpus', target, report.corpus)
  const crashers = [...readInputs('crashers', target), ...report.finds.map(({ input }) => input)]
  if (report.finds.length > 0) writeInputs('crashers', target, crashers)
  const record: Map<string, FuzzRecord> = readRecord(existsSync(RECORD) ? readFileSync(RECORD, 'utf8') : '')
  const before = record.get(target)
  record.set(target, {
    minutes: (before?.minutes ?? 0) + minutes,
    executions: (before?.executions ?? 0) + report.executions,
    reached: report.reached,
    total: report.total,
    inputs: report.corpus.length,
    found: (before?.found ?? 0) + report.finds.length,
  })
  writeFileSync(RECORD, renderRecord(record))
}

/** Fuzzes the target until it is over, watched. */
async function campaign(target: FuzzTarget, seed: number, isOver: () => boolean): Promise<FuzzReport> {
  const corpus = readInputs('corpus', target.name)
  const bytesMax = Math.max(target.bytesMax, ...[...target.seeds, ...corpus].map(({ length }) => length))
  await using watchdog = new Watchdog(bytesMax, fileURLToPath(fileOf('crashers', target.name)), DEADLINE_MS)
  const run = (input: Uint8Array): void | Promise<void> => {
    watchdog.begin(input)
    return target.run(input)
  }
  return await fuzz({ ...target, run }, { coverage, seed, corpus, isOver })
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    minutes: { type: 'string', default: '1' },
    seed: { type: 'string' },
    missed: { type: 'boolean', default: false },
  },
})
const minutes = values.missed ? 0 : Number(values.minutes)
// Before any target is loaded, and with it what it covers.
using coverage = new Coverage()
const targets = await loadTargets(positionals.includes('all') ? TARGET_NAMES : positionals)
if (targets.length === 0) process.stdout.write(`${TARGET_NAMES.join('\n')}\n`)
let found = 0
for (const target of targets) {
  const spentBefore = spentMs()
  const seed = Number(values.seed ?? Date.now() % 1_000_000)
  const isOver = (): boolean => spentMs() - spentBefore > minutes * MINUTE_MS
  const report = await campaign(target, seed, isOver)
  await target.close?.()
  if (values.missed) {
    for (const { file, line, text } of coverage.missed())
      process.stdout.write(`${file}:${line} ${text.slice(0, 120)}\n`)
    continue
  }
  remember(target.name, minutes, report)
  const { executions, reached, total, corpus, finds } = report
  const line = `${target.name}: ${executions} inputs (seed ${seed}), ${reached} of ${total} characters of source run, ${corpus.length} kept, ${finds.length} found`
  process.stdout.write(`${line}\n`)
  for (const { error, input } of finds)
    process.stdout.write(`  ${error.stack ?? error.message}\n  input ${Buffer.from(input).toString('base64')}\n`)
  found += finds.length
}
process.exitCode = found === 0 ? 0 : 1
