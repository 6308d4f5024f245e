import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadInterop } from './interop-module.ts'
import { runCampaign, tell } from './power-cut.ts'

/** A thousand power cuts in all. */
const SEEDS: readonly number[] = [101, 102, 103, 104, 105, 106, 107, 108, 109, 110]
const CUTS_EACH = 120
const CUTS_MIN = 100

for (const seed of SEEDS) {
  test(`power cuts under interop, seed ${seed}: every 202 is there once, every acknowledgement holds, the audit is whole`, async (t) => {
    const report = await runCampaign({ seed, cuts: CUTS_EACH, interop: await loadInterop() })
    t.diagnostic(tell(report))
    assert.ok(report.cuts >= CUTS_MIN, tell(report))
    assert.ok(report.ahead > 0 && report.letGo > 0, tell(report))
  })
}
