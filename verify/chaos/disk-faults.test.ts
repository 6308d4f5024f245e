import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Fault, FaultyOperation } from '../virtual/faults.ts'
import { countCalls, runWithFault } from './disk-faults.ts'

const OPERATIONS: readonly FaultyOperation[] = [
  'open',
  'append',
  'read',
  'sync',
  'rename',
  'unlink',
  'make-directory',
  'sync-directory',
  'list',
  'commit',
]
const FAULTS: Readonly<Record<Fault, readonly FaultyOperation[]>> = {
  'io-error': OPERATIONS,
  'no-space': ['open', 'append', 'make-directory', 'commit'],
  'short-write': ['append'],
  'bit-flip': ['append', 'read'],
}
/** With the long setting every call; else about this many of each operation. */
const CALLS_MAX = process.env['CAIRN_LONG'] === '1' ? Number.POSITIVE_INFINITY : 25

describe('one fault at one disk call', async () => {
  const seed = 5
  const counts = await countCalls(seed)
  for (const [fault, operations] of Object.entries(FAULTS) as [Fault, readonly FaultyOperation[]][]) {
    for (const operation of operations) {
      test(`${fault} at ${operation}: answered, consistent, ready again`, async (t) => {
        const count = counts.get(operation) ?? 0
        const step = Math.max(1, Math.ceil(count / CALLS_MAX))
        const totals = { runs: 0, refused: 0, damaged: 0 }
        for (let nth = 1; nth <= count; nth += step) {
          const report = await runWithFault(seed, operation, nth, fault)
          totals.runs += 1
          totals.refused += report.refused
          totals.damaged += report.damaged
          if (fault !== 'bit-flip') assert.equal(report.damaged, 0, `${operation} ${nth}`)
        }
        t.diagnostic(`${totals.runs} of ${count} calls, ${totals.refused} refused, ${totals.damaged} damaged`)
        assert.ok(totals.runs > 0)
      })
    }
  }
})
