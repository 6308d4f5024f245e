import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pruneBelow, type RetentionFacts } from './retention-core.ts'

const POLICY: RetentionFacts['policy'] = { policy: 'by-age', max_age: 1000, max_count: 100, target_bytes: 1 }

/** Segments that begin with these entries, all of them older than the policy keeps, and so many under a checkpoint. */
function facts(starts: readonly number[], anchor: number, oldestOpen?: number): RetentionFacts {
  return {
    policy: POLICY,
    starts: starts.map((index, at) => ({ segment: at + 1, index, bytes: 100 })),
    anchor,
    oldestOpen,
    committedBefore: () => 1_000_000,
    now: 0,
  }
}

test('the last entry that a checkpoint covers stays, and so does all that none covers', () => {
  assert.equal(pruneBelow(facts([0, 10, 20], 25)), 20)
  assert.equal(pruneBelow(facts([0, 10, 20], 21)), 20, 'entry 20 is the last one')
  assert.equal(pruneBelow(facts([0, 10, 20], 20)), 10, 'entry 19 is the last one')
  assert.equal(pruneBelow(facts([0, 10, 20], 10)), undefined)
})

test('a proposal that is open stays, and so does all after it', () => {
  assert.equal(pruneBelow(facts([0, 10, 20], 25, 20)), 20)
  assert.equal(pruneBelow(facts([0, 10, 20], 25, 19)), 10)
  assert.equal(pruneBelow(facts([0, 10, 20], 25, 3)), undefined)
})
