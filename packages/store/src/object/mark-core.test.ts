import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLeases, endLease, keep, lease } from '../chunk/lease-core.ts'
import { beginRound, block, createMarks, died, endRound, isDue, marked, mayCondemn } from './mark-core.ts'

const FREE = { isProved: true, isMarked: false, isSettled: true }

function wholeRound(): ReturnType<typeof createMarks> {
  const marks = createMarks()
  beginRound(marks, createLeases(100, 0), undefined)
  marked(marks)
  return marks
}

test('nothing is removed for one lease time after a start, and no round is made for nothing', () => {
  const leases = createLeases(100, 50)
  assert.equal(mayCondemn(wholeRound(), leases, 'a', FREE, 149), false)
  assert.equal(mayCondemn(wholeRound(), leases, 'a', FREE, 150), true)
  assert.equal(isDue(createMarks(), leases, 149), false)
  assert.equal(isDue(createMarks(), leases, 150), true)
})

test('nothing is removed that was marked, is leased or kept, is under way, or was not read back', () => {
  const [leases, marks] = [createLeases(100, 0), wholeRound()]
  for (const facts of [{ isMarked: true }, { isSettled: false }, { isProved: false }])
    assert.equal(mayCondemn(marks, leases, 'a', { ...FREE, ...facts }, 500), false)
  lease(leases, 'u', 'a', 450)
  assert.equal(mayCondemn(marks, leases, 'a', FREE, 500), false)
  endLease(leases, 'u')
  keep(leases, 'commit', 'a')
  assert.equal(mayCondemn(marks, leases, 'a', FREE, 1e9), false)
  endLease(leases, 'commit')
  assert.equal(mayCondemn(marks, leases, 'a', FREE, 1e9), true)
})

test('a round that was blocked removes nothing and stays due; so does one in which something died', () => {
  const [leases, marks] = [createLeases(0, 0), createMarks()]
  beginRound(marks, leases, undefined)
  block(marks, 'an object cannot be read')
  marked(marks)
  assert.equal(mayCondemn(marks, leases, 'a', FREE, 1), false)
  endRound(marks)
  assert.equal(isDue(marks, leases, 1), true)
  assert.equal(marks.blockedBy, 'an object cannot be read')
  beginRound(marks, leases, undefined)
  died(marks)
  marked(marks)
  endRound(marks)
  assert.equal(isDue(marks, leases, 1), true)
  beginRound(marks, leases, undefined)
  marked(marks)
  endRound(marks)
  assert.equal(isDue(marks, leases, 1), false)
})

test('a round does not begin where something of the journal cannot be read', () => {
  const [leases, marks] = [createLeases(0, 0), createMarks()]
  beginRound(marks, leases, 'segment 3 cannot be read')
  marked(marks)
  assert.equal(mayCondemn(marks, leases, 'a', FREE, 1), false)
  endRound(marks)
  assert.equal(isDue(marks, leases, 1), true)
})
