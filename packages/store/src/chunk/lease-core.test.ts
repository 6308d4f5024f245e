import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLeases, endLease, isLeased, keep, lease, maySweep, unlease } from './lease-core.ts'

const FREE = { isSettled: true, isReferenced: false }

test('a lease runs from the last time its upload was heard of', () => {
  const leases = createLeases(100, 0)
  lease(leases, 'u', 'a', 10)
  lease(leases, 'u', 'b', 60)
  assert.equal(isLeased(leases, 'a', 159), true)
  assert.equal(isLeased(leases, 'a', 160), false)
  lease(leases, 'v', 'c', 200)
  assert.equal(leases.uploads.has('u'), false, 'what has run out is forgotten')
})

test('an upload of several objects keeps the chunks of those that are not committed yet', () => {
  const leases = createLeases(100, 0)
  for (const id of ['a', 'b', 'c']) lease(leases, 'u', id, 10)
  unlease(leases, 'u', ['a', 'b'])
  assert.deepEqual(
    ['a', 'b', 'c'].map((id) => isLeased(leases, id, 20)),
    [false, false, true],
  )
  unlease(leases, 'u', ['c'])
  assert.equal(leases.uploads.size, 0)
})

test('nothing is swept for one lease time after a start', () => {
  const leases = createLeases(100, 50)
  assert.equal(maySweep(leases, 'a', FREE, 149), false)
  assert.equal(maySweep(leases, 'a', FREE, 150), true)
})

test('nothing is swept that is referenced, leased, kept or under way', () => {
  const leases = createLeases(100, 0)
  assert.equal(maySweep(leases, 'a', { ...FREE, isReferenced: true }, 500), false)
  assert.equal(maySweep(leases, 'a', { ...FREE, isSettled: false }, 500), false)
  lease(leases, 'u', 'a', 450)
  assert.equal(maySweep(leases, 'a', FREE, 500), false)
  endLease(leases, 'u')
  keep(leases, 'commit', 'a')
  assert.equal(maySweep(leases, 'a', FREE, 1e9), false)
  endLease(leases, 'commit')
  assert.equal(maySweep(leases, 'a', FREE, 1e9), true)
})

test('what is kept does not run out, whether it was leased under the same name before or after', () => {
  const leases = createLeases(100, 0)
  lease(leases, 'commit', 'page', 0)
  keep(leases, 'commit', 'page')
  lease(leases, 'commit', 'next page', 10)
  for (const id of ['page', 'next page']) assert.equal(maySweep(leases, id, FREE, 1e9), false, id)
  endLease(leases, 'commit')
  assert.equal(maySweep(leases, 'page', FREE, 1e9), true)
})
