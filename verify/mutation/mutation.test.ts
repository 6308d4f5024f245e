import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { switchMutants } from './mutants.ts'
import { renderRecord, renderRow } from './report.ts'
import { findMutants, MutationRun, type Outcome, runDry } from './runner.ts'

const FATES = [
  '3: 3 killed',
  '6: count > 3 survived',
  '6: count < 3 killed',
  '6: false killed',
  '6: true killed',
  '9: {} killed',
  '11: left >= 0 killed',
  '11: left <= 0 killed',
  '11: false killed',
  '11: nothing endless',
  '11: left += 1 endless',
  '12: undefined killed',
  '15: {} killed',
  '16: nothing killed',
  '16: put() killed',
  "17: '' killed",
  '21: age !== 0 unreached',
  '21: false unreached',
  '21: true unreached',
]

test('a sample comes out as it was made: faults that are found, missed, endless, at work while loading, and never reached', async () => {
  const root = fileURLToPath(new URL('./samples/', import.meta.url))
  const testFiles = ['shelf-tests.ts']
  const mutants = findMutants(root, ['shelf.ts'])
  const dry = await runDry(root, mutants, testFiles)
  const known = new Map<string, Outcome>()
  const record = (outcome: Outcome): void => void known.set(outcome.key, outcome)
  const campaign = { root, sources: ['shelf.ts'], testFiles, version: '', known, record, isOver: () => false }
  await new MutationRun(campaign, mutants, dry).run()
  const fates = mutants.map(({ key, line, after }) => `${line}: ${after} ${known.get(key)?.status}`)
  assert.deepEqual(fates, FATES)
})

/** What every fault in a piece of code turns it into. */
function faults(code: string): string[] {
  return switchMutants('sample.ts', code, 1).mutants.map(({ after }) => after)
}

test('each kind of syntax has its faults', () => {
  const cases: [string, string[]][] = [
    ['f(a?.b ?? c)', ['nothing', 'a?.b', 'c', 'a.b']],
    ['throw new CairnError("Malformed", `Size ${size} is too large.`)', ['nothing', "''"]],
    ['const x = (list as string[]).filter(isUsed).length', ['(list as string[])']],
    ['type T = "a" | "b"\nexport { a as b }\nimport c from "c"', []],
    ['const f = async () => await g()', ['undefined']],
    ['async function f() { try { return await g() } catch { return h() } }', ['{}', 'g()', 'undefined', 'undefined']],
    ['const { a, b: { c } = {} } = { a, "b": d }', ['{}']],
    ['if (a && !b) c()', ['(a) || (!b)', 'false', 'true', 'b']],
    ['for (const x of y) { if (x) continue; z += x++ }', ['{}', 'false', 'true', 'nothing', 'z -= x++', 'x--']],
  ]
  for (const [code, expected] of cases) assert.deepEqual(faults(code), expected, code)
})

test('the record keeps other packages and replaces the row of the one that ran', () => {
  const [mutant] = findMutants(fileURLToPath(new URL('./samples/', import.meta.url)), ['shelf.ts'])
  assert.ok(mutant)
  const row = renderRow('wire', '2026-01-02', [
    { mutant, status: 'killed' },
    { mutant, status: 'survived' },
    { mutant, status: 'untried' },
  ])
  assert.equal(row, '| wire | 2026-01-02 | 3 | 2 | 1 | 0 | 1 | 0 | 50.0 % | 0 | 50.0 % |')
  const first = renderRecord('# Title\n\nWhy.\n', 'wire', row)
  const both = renderRecord(first, 'tlog', row.replace('wire', 'tlog'))
  const again = renderRecord(both, 'wire', row.replace('01-02', '01-03'))
  assert.ok(again.includes('| wire | 2026-01-03 |') && again.includes('| tlog | 2026-01-02 |'))
  assert.equal(again.match(/^\| (wire|tlog) \|/gm)?.length, 2)
  assert.ok(again.startsWith('# Title\n\nWhy.\n\n| package |'))
})
