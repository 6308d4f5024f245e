import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runKills, tell } from './kill.ts'

test('a hundred kill -9 of interop at 200 webhooks a second: every 202 is delivered, once for each rule', async (t) => {
  const report = await runKills(100, 2)
  t.diagnostic(tell(report))
  assert.equal(report.kills, 100)
  assert.ok(report.accepted > 1000, tell(report))
})
