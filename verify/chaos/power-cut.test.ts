import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DriveStore } from '@cairn/store'
import { runCampaign } from './power-cut.ts'

for (const seed of [1, 2]) {
  test(`power cuts during a mixed load, seed ${seed}: nothing promised is lost, nothing removed is back`, async (t) => {
    const report = await runCampaign({ seed, cuts: 100, storage: DriveStore })
    t.diagnostic(`${report.cuts} of ${report.possible} possible cuts, ${report.promises} promises`)
    assert.ok(report.cuts > 50 && report.promises > 50)
  })
}
