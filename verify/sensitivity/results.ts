/** What is known so far, kept after every tool so that a run may stop anywhere; and the table made of it. */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { PLANTED_FAULTS, type PlantedFault } from './planted-faults.ts'
import { TOOLS, type Tool, type Verdict } from './tools.ts'

const RESULTS = fileURLToPath(new URL('results.json', import.meta.url))
export const DOCUMENT = fileURLToPath(new URL('results.md', import.meta.url))

/** Begins the names of rows of the tree as it is: what complains about that proves nothing about a plant. */
export const CONTROL = 'no plant'

export interface Row {
  /** Of the trees it was judged in, the oldest first. */
  readonly revisions: readonly string[]
  readonly verdicts: Readonly<Partial<Record<Tool, Verdict>>>
  /** What the cluster said when it had become stricter, and of which tree. */
  readonly again?: { readonly revision: string; readonly verdict: Verdict }
}

export type Results = Readonly<Record<string, Row>>

export function readResults(): Results {
  return existsSync(RESULTS) ? (JSON.parse(readFileSync(RESULTS, 'utf8')) as Results) : {}
}

/** Adds one verdict; read anew each time, since others may be adding theirs. */
export function keepVerdict(id: string, revision: string, tool: Tool, verdict: Verdict): void {
  const results = readResults()
  const revisions = [...new Set([...(results[id]?.revisions ?? []), revision])]
  write({ ...results, [id]: { ...results[id], revisions, verdicts: { ...results[id]?.verdicts, [tool]: verdict } } })
}

/** What the cluster says now, beside what it said first. */
export function keepAgain(id: string, revision: string, verdict: Verdict): void {
  const results = readResults()
  const row = results[id]
  if (row === undefined) throw new Error(`${id} has not been judged yet.`)
  write({ ...results, [id]: { ...row, again: { revision, verdict } } })
}

/** The plant is to be judged anew. */
export function forgetRow(id: string): void {
  const { [id]: _row, ...others } = readResults()
  write(others)
}

function write(results: Results): void {
  writeFileSync(`${RESULTS}.new`, `${JSON.stringify(results, undefined, 2)}\n`)
  renameSync(`${RESULTS}.new`, RESULTS)
}

const EXPECTED: Readonly<Record<PlantedFault['expects'], Tool | undefined>> = {
  model: 'models',
  simulator: 'simulators',
  campaign: 'campaigns',
  test: 'tests',
  nothing: undefined,
}

const WORDS: Readonly<Record<Tool, string>> = {
  models: 'model',
  simulators: 'simulator',
  cluster: 'cluster',
  campaigns: 'campaign',
  tests: 'tests',
}

/** Every tool has had its say, or one has found it. */
function isJudged(verdicts: Row['verdicts']): boolean {
  return (
    firstFinder(verdicts) !== undefined || TOOLS.every((tool) => tool === 'cluster' || verdicts[tool] !== undefined)
  )
}

/** The tool that found the plant first, in the order in which they are tried. */
export function firstFinder(verdicts: Row['verdicts']): Tool | undefined {
  return TOOLS.find((tool) => verdicts[tool]?.tag === 'found')
}

export function renderDocument(results: Results): string {
  const rows = PLANTED_FAULTS.flatMap((planted) => {
    const row = results[planted.id]
    return row === undefined ? [] : [rowOf(planted, row)]
  })
  const revisions = new Set(PLANTED_FAULTS.flatMap(({ id }) => results[id]?.revisions ?? []))
  return `${HEAD}
${summaryOf(results)} Trees: ${[...revisions].join(', ')}.

| plant | where | expected | simulators | cluster | cluster, stricter | first found by | after | what it said |
|---|---|---|---|---|---|---|---|---|
${rows.join('\n')}
${missesOf(results)}${FOOT}`
}

function rowOf(planted: PlantedFault, { verdicts, again }: Row): string {
  const finder = firstFinder(verdicts)
  const verdict = finder === undefined ? undefined : verdicts[finder]
  const found = verdict?.tag === 'found' ? verdict : undefined
  const expected = EXPECTED[planted.expects]
  const cells = [
    planted.name,
    `\`${planted.file}\``,
    expected === undefined ? 'nothing' : WORDS[expected],
    simulatorCell(verdicts.simulators),
    simulatorCell(verdicts.cluster),
    simulatorCell(again?.verdict),
    finder === undefined ? (isJudged(verdicts) ? '**missed**' : 'not yet') : WORDS[finder],
    found === undefined
      ? ''
      : found.seeds === undefined
        ? `${found.seconds} s`
        : `${found.seeds} seeds, ${found.seconds} s`,
    found?.says ?? '',
  ]
  return `| ${cells.map(cell).join(' | ')} |`
}

function seedOf(verdict: Verdict | undefined): number | undefined {
  return verdict?.tag === 'found' ? verdict.seeds : undefined
}

function simulatorCell(verdict: Verdict | undefined): string {
  switch (verdict?.tag) {
    case undefined:
      return 'not run'
    case 'unreached':
      return '–'
    case 'missed':
    case 'late':
      return `miss (${verdict.seeds ?? 0})`
    case 'found':
      return `seed ${verdict.seeds ?? 0}`
  }
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ').replaceAll('<', '&lt;').slice(0, 240)
}

function summaryOf(results: Results): string {
  const rows = PLANTED_FAULTS.flatMap(({ id }) => results[id] ?? [])
  const judged = rows.filter(({ verdicts }) => isJudged(verdicts))
  const found = judged.filter(({ verdicts }) => firstFinder(verdicts) !== undefined)
  const reached = rows.filter(
    ({ verdicts: { simulators } }) => simulators !== undefined && simulators.tag !== 'unreached',
  )
  const bySimulator = reached.filter(({ verdicts }) => [verdicts.simulators, verdicts.cluster].some(isFound))
  const again = rows.flatMap((row) => (row.again === undefined || row.again.verdict.tag === 'unreached' ? [] : row))
  const trees = new Set(again.map((row) => row.again?.revision))
  const stricter = `The cluster as it is on ${[...trees].join(', ')} had ${again.length} of them again and found ${again.filter((row) => isFound(row.again?.verdict)).length}, where it had found ${again.filter(({ verdicts }) => isFound(verdicts.cluster)).length}.`
  return `${PLANTED_FAULTS.length} plants, ${judged.length} of them judged: ${found.length} found, ${judged.length - found.length} missed. Simulators run the code of ${reached.length} of them and found ${bySimulator.length}. ${stricter}`
}

function isFound(verdict: Verdict | undefined): boolean {
  return verdict?.tag === 'found'
}

function missesOf(results: Results): string {
  const missed = PLANTED_FAULTS.filter(({ id }) => {
    const row = results[id]
    return row !== undefined && isJudged(row.verdicts) && firstFinder(row.verdicts) === undefined
  })
  if (missed.length === 0) return ''
  const lines = missed.map(({ id, name, file }) => {
    const since = FOUND_SINCE[id]
    const seed = seedOf(results[id]?.again?.verdict)
    const finders = [
      ...(since === undefined ? [] : [`\`${since}\``]),
      ...(seed === undefined ? [] : [`the cluster, seed ${seed}`]),
    ]
    const found = finders.length === 0 ? '' : ` Found since by ${finders.join(' and by ')}.`
    return `- \`${id}\`: ${name} (\`${file}\`).${found}${HARMLESS[id] ?? ''}`
  })
  return `\n## Missed\n\n${lines.join('\n')}\n`
}

/** Tests written because of a miss; the table above keeps what was missed when it was planted. */
const FOUND_SINCE: Readonly<Record<string, string>> = {
  'dedupe-before-sync': 'packages/store/test/storage.test.ts',
  'cached-after-removal': 'packages/store/test/storage.test.ts',
  'signature-prefix': 'packages/platform/src/crypto.test.ts',
  'torn-reload': 'packages/platform/src/config/store.test.ts',
  'lease-timer-rings-once': 'packages/mailbox/test/mailboxes.test.ts',
  'failed-ack-strands': 'packages/mailbox/test/mailboxes.test.ts',
  'closed-in-the-batch': 'services/registry/test/commits.test.ts',
  'prunes-the-last-entry': 'services/registry/src/domain/retention-core.test.ts',
  'validated-though-invalid': 'services/edge/test/validation.test.ts',
  'chunks-of-strangers': 'services/edge/test/objects.test.ts',
  'relapse-ends-early': 'services/interop/src/domain/brownout-core.test.ts',
  'present-before-durable': 'services/storage/test/hostile.test.ts',
  'rebuilt-of-any-generation': 'services/storage/src/erasure/stripes.test.ts',
}

/** Faults that turned out to be none. */
const HARMLESS: Readonly<Record<string, string>> = {
  'compacted-begins-late':
    ' No fault after all: whatever covers a record that was copied is younger than all that were.',
  'prunes-the-last-entry':
    ' No fault after all, but a rule of the code: before anything goes, the snapshot of the state is an entry with a durable checkpoint of its own.',
}

const HEAD = `# What the tools find

Faults planted on purpose, one line of the source each, of the kind that somebody in a hurry writes. The list
(\`verify/sensitivity/planted-faults.ts\`), with the tool that ought to find each, was committed before the first run. Every plant
is put into a copy of the tree, and the tools are tried until one complains: the models of the code it is in; the
simulators that run it, up to 200 seeds of each or 15 s in all (30 s for the first rows); the tests beside the code, of
that package alone (90 s); power cuts, fault and real-process campaigns (45 s; these were tried before the tests for the
first rows, up to those of \`packages/tlog\`). The simulators are always run, for their own
columns (the cluster is that of whole nodes): the seed that complained, \`miss\` with the number of seeds, or – where no simulator runs the code.
`

const FOOT = `
\`node verify/sensitivity/main.ts\` goes on where it stopped; \`node verify/sensitivity/main.ts ID\` runs one plant again.
A campaign that complained, and whatever did not end, was also run on the tree without the plant, and was content; for
models, seeds and most tests this was not repeated.

How to read it: bounds and the choice of tools were made smaller during the run, because the machine was shared. The rows up
to \`signature-prefix\` had up to six simulators and 30 s, later ones those that \`tools.ts\` names now; the five plants in
storage were given to its simulators a second time, to fewer of them; registry and storage have only some of their tests. A
miss of a few seeds is a weak miss. The cluster was run again later, a minute for each plant, on a newer tree. "It does not
end" means only that it took more than twice as long as without the plant. The column of the stricter cluster is of a later
one still, which also cuts the power just as something is told, drains mailboxes, asks again for what may be kept and
changes pages while they are read: some that it had missed, and those it had found before.
`
