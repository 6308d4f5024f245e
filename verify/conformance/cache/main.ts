/** `npm run conformance:cache`: the score of the edge in http-cache-tests, and every test it does not pass. */
import { startEdgeSubject } from './edge-subject.ts'
import { exceptionFor } from './exceptions.ts'
import { installSuite, loadSuite, type SuiteTest, startOrigin, type Verdict } from './suite.ts'

const TARGETS = { required: 140, optimal: 70 } as const

type Verdicts = Readonly<Record<string, Verdict>>

/** A test that builds on one that fails says nothing by passing. */
function passes({ id, depends_on: needed = [] }: SuiteTest, verdicts: Verdicts): boolean {
  return verdicts[id] === true && needed.every((other) => verdicts[other] === true)
}

function score(
  tests: readonly SuiteTest[],
  verdicts: Verdicts,
  kind: 'required' | 'optimal',
): { passed: number; of: number } {
  const own = tests.filter((test) => (test.kind ?? 'required') === kind)
  return { passed: own.filter((test) => passes(test, verdicts)).length, of: own.length }
}

const folder = installSuite()
const suite = await loadSuite(folder)
const origin = await startOrigin(folder)
const subject = await startEdgeSubject(origin.port, suite.tests)
try {
  const verdicts = await suite.run(subject.base)
  const write = (line: string): boolean => process.stdout.write(`${line}\n`)
  for (const test of suite.tests) {
    const kind = test.kind ?? 'required'
    const verdict = verdicts[test.id]
    if (kind === 'check' || passes(test, verdicts)) continue
    const found = verdict === true ? `depends on ${test.depends_on?.join(', ')}` : (verdict?.[1] ?? 'did not run')
    const reason = exceptionFor(test.id)
    if (reason === undefined) process.exitCode = 1
    const why = reason ?? `NOT EXPLAINED: ${found}`
    write(`${kind.padEnd(9)} ${test.id}: ${why}`)
  }
  write('')
  for (const kind of ['required', 'optimal'] as const) {
    const { passed, of } = score(suite.tests, verdicts, kind)
    write(`${subject.name}: ${kind} ${passed} of ${of} (at least ${TARGETS[kind]})`)
    if (passed < TARGETS[kind]) process.exitCode = 1
  }
} finally {
  await subject.stop()
  origin.stop()
}
