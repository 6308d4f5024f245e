import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type DeliveryAttempt, judge } from '../../src/reconcile/missed-core.ts'

const NOW = 1_700_000_000_000
const MINUTE = 60_000

function attempt(id: string, guid: string, minutesAgo: number, succeeded = false): DeliveryAttempt {
  return { id, guid, at: NOW - minutesAgo * MINUTE, succeeded }
}

test('what never succeeded is asked for, by its newest attempt, the oldest delivery first', () => {
  const attempts = [
    attempt('9', 'c', 2),
    attempt('7', 'b', 3, true),
    attempt('6', 'a', 4),
    attempt('5', 'b', 5),
    attempt('4', 'a', 9),
  ]
  assert.deepEqual(judge(attempts, NOW, 20), { ask: ['6', '9'], openSince: NOW - 9 * MINUTE })
})

test('what may still be on its way is left alone, but looked at again', () => {
  assert.deepEqual(judge([attempt('1', 'a', 0.9)], NOW, 20), { ask: [], openSince: NOW - 0.9 * MINUTE })
})

test('what failed five times is for people; what arrived is done', () => {
  const often = Array.from({ length: 5 }, (_, at) => attempt(String(at), 'a', 10 + at))
  assert.deepEqual(judge([...often, attempt('9', 'b', 5, true)], NOW, 20), { ask: [], openSince: undefined })
})

test('a round asks for no more than its bound, each delivery once, and never for one that arrived', () => {
  const arbitrary = fc.record({
    id: fc.nat(1e6).map(String),
    guid: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
    at: fc.integer({ min: NOW - 1e9, max: NOW }),
    succeeded: fc.boolean(),
  })
  fc.assert(
    fc.property(fc.uniqueArray(arbitrary, { selector: ({ id }) => id }), fc.nat(4), (attempts, askMax) => {
      const { ask } = judge(attempts, NOW, askMax)
      assert.ok(ask.length <= askMax)
      const guids = ask.map((id) => attempts.find((each) => each.id === id)!.guid)
      assert.equal(new Set(guids).size, guids.length)
      for (const guid of guids) assert.ok(attempts.every((each) => each.guid !== guid || !each.succeeded))
    }),
  )
})
