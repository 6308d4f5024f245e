import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Fault, type FaultyOperation, STRIKES } from '../virtual/faults.ts'
import { countCalls, runWithFault } from './disk-faults.ts'

/** With the long setting every call; else about this many of each operation. */
const CALLS_MAX = process.env['CAIRN_LONG'] === '1' ? Number.POSITIVE_INFINITY : 3
/** The lock is not the store's but the node's: see `data-directory-faults.test.ts`. */
const ELSEWHERE: readonly FaultyOperation[] = ['lock']

describe('one fault at one disk call', async () => {
  const seed = 5
  const counts = await countCalls(seed)
  for (const [fault, operations] of Object.entries(STRIKES) as [Fault, readonly FaultyOperation[]][]) {
    for (const operation of operations.filter((each) => !ELSEWHERE.includes(each))) {
      test(`${fault} at ${operation}: answered, consistent, ready again`, async (t) => {
        const count = counts.get(operation) ?? 0
        const step = Math.max(1, Math.ceil(count / CALLS_MAX))
        const totals = { runs: 0, struck: 0, refused: 0, damaged: 0 }
        for (let nth = 1; nth <= count; nth += step) {
          const report = await runWithFault(seed, operation, nth, fault)
          totals.runs += 1
          totals.struck += report.struck ? 1 : 0
          totals.refused += report.refused
          totals.damaged += report.damaged
          if (fault !== 'bit-flip') assert.equal(report.damaged, 0, `${operation} ${nth}`)
        }
        t.diagnostic(
          `${fault} at ${operation}: ${totals.runs} of ${count} calls, ${totals.struck} struck, ${totals.refused} requests refused, ${totals.damaged} damaged`,
        )
        assert.ok(totals.struck > 0)
      })
    }
  }
})
