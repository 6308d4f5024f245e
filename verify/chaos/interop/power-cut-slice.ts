/** A thousand power cuts in ten slices of a seed each. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadInterop } from './interop-module.ts'
import { runCampaign, tell } from './power-cut.ts'

const CUTS_EACH = 120
const CUTS_MIN = 100

export function testPowerCutSlice(slice: number): void {
  test(`power cuts under interop, slice ${slice} of 10: every 202 is there once, every acknowledgement holds, the audit is whole`, async (t) => {
    const report = await runCampaign({ seed: 100 + slice, cuts: CUTS_EACH, interop: await loadInterop() })
    t.diagnostic(tell(report))
    assert.ok(report.cuts >= CUTS_MIN, tell(report))
    assert.ok(report.ahead > 0 && report.letGo > 0, tell(report))
  })
}
