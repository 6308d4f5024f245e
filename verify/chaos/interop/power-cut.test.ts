import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadInterop } from './interop-module.ts'
import { runCampaign, tell } from './power-cut.ts'

test('power cuts under interop: every 202 is there once, every acknowledgement holds, the audit is whole', async (t) => {
  const report = await runCampaign({ seed: 1, cuts: 24, interop: await loadInterop() })
  t.diagnostic(tell(report))
  assert.ok(report.cuts > 10 && report.accepted > 50)
})
