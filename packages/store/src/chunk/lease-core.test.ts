import assert from 'node:assert/strict'
import { test } from 'node:test'
import { abandonLease, createLeases, endLease, expire, isLeased, keep, lease, unlease } from './lease-core.ts'

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

test('what a lease kept may be garbage when it runs out or is abandoned, and not when an object took it over', () => {
  const leases = createLeases(100, 0)
  lease(leases, 'runs out', 'a', 0)
  expire(leases, 99)
  assert.equal(leases.abandoned, 0)
  expire(leases, 110)
  assert.equal(leases.abandoned, 1)
  keep(leases, 'commit 1', 'b')
  endLease(leases, 'commit 1')
  assert.equal(leases.abandoned, 1)
  keep(leases, 'commit 2', 'c')
  abandonLease(leases, 'commit 2')
  abandonLease(leases, 'commit 2')
  assert.equal(leases.abandoned, 2)
})

test('what is kept does not run out, whether it was leased under the same name before or after', () => {
  const leases = createLeases(100, 0)
  lease(leases, 'commit', 'page', 0)
  keep(leases, 'commit', 'page')
  lease(leases, 'commit', 'next page', 10)
  for (const id of ['page', 'next page']) assert.equal(isLeased(leases, id, 1e9), true, id)
  endLease(leases, 'commit')
  assert.equal(isLeased(leases, 'page', 1e9), false)
})
