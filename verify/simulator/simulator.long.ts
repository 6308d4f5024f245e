import assert from 'node:assert/strict'
import { test } from 'node:test'
import { failureText, Summary } from './report.ts'
import { runInProcesses } from './run-seeds.ts'

const SLICES = 20
const SEEDS_EACH = 500
const JOBS = 2
/** Run twice, in different processes. */
const REPEATED = 100

function seedsOf(slice: number, count = SEEDS_EACH): number[] {
  return Array.from({ length: count }, (_, at) => 1001 + slice * SEEDS_EACH + at)
}

for (let slice = 0; slice < SLICES; slice += 1) {
  const seeds = seedsOf(slice)
  test(`seeds ${seeds[0]} to ${seeds.at(-1)} hold`, async (t) => {
    const summary = new Summary()
    const failures: string[] = []
    await runInProcesses(seeds, JOBS, (outcome) => {
      if (outcome.tag === 'held') summary.add(outcome.report)
      else failures.push(failureText(outcome.seed, outcome.message, outcome.trace))
    })
    t.diagnostic(summary.line)
    t.diagnostic(summary.matrix.line)
    assert.deepEqual(failures, [])
    assert.deepEqual(summary.matrix.zeros(), [])
  })
}

test(`${REPEATED} seeds have the same trace twice`, async () => {
  const hashes = new Map<number, string>()
  for (const jobs of [1, 2]) {
    await runInProcesses(seedsOf(0, REPEATED), jobs, (outcome) => {
      if (outcome.tag === 'failed') assert.fail(failureText(outcome.seed, outcome.message, outcome.trace))
      const { seed, traceHash } = outcome.report
      assert.equal(traceHash, hashes.get(seed) ?? traceHash)
      hashes.set(seed, traceHash)
    })
  }
  assert.equal(hashes.size, REPEATED)
})
