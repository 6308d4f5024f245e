import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runKills, tell } from './kill.ts'

test('kill -9 of interop under load: every 202 is delivered, once for each rule', async (t) => {
  const report = await runKills(2, 1)
  t.diagnostic(tell(report))
  assert.ok(report.accepted > 10, tell(report))
})
