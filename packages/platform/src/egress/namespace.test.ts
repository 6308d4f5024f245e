import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FORBIDDEN_ADDRESSES, PUBLIC_ADDRESS, PUBLIC_ADDRESS_V6, SPELLINGS } from './test/forbidden-targets.ts'
import { Namespace, namespaceObstacle } from './test/namespace.ts'
import type { ProbeReport } from './test/namespace-probe.ts'

const PROBE = new URL('./test/namespace-probe.ts', import.meta.url)

test('no spelling, name, redirect or rebinding reaches a forbidden address, and public ones are reached', (t) => {
  const obstacle = namespaceObstacle()
  if (obstacle !== undefined) {
    t.skip(obstacle)
    return
  }
  using namespace = new Namespace([...FORBIDDEN_ADDRESSES, PUBLIC_ADDRESS, PUBLIC_ADDRESS_V6])
  const report = JSON.parse(namespace.run(PROBE)) as ProbeReport

  const listening = Object.values(report.unguarded).reduce((sum, count) => sum + count, 0)
  assert.equal(listening, FORBIDDEN_ADDRESSES.length + 3, 'a listener was not there')
  assert.ok(SPELLINGS.length >= 60)
  assert.equal(report.publicConnections, SPELLINGS.length + FORBIDDEN_ADDRESSES.length, 'a detour did not start')
  assert.deepEqual(report.forbidden, {}, 'a forbidden address was connected to')

  const answered = Object.entries(report.outcomes).filter(([, outcome]) => outcome.startsWith('answered'))
  assert.deepEqual(
    answered.map(([label]) => label),
    ['public name', 'public name over IPv6', 'public address'],
  )
  assert.deepEqual(report.leftOver, [])
  t.diagnostic(
    `${SPELLINGS.length} spellings, ${Object.keys(report.outcomes).length} attempts, 0 forbidden connections`,
  )
})
