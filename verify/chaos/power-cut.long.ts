import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DriveStore } from '@cairn/store'
import { runCampaign } from './power-cut.ts'

const SEEDS = 25
const CUTS_EACH = 200

test('thousands of power cuts during mixed loads', async (t) => {
  let cuts = 0
  for (let seed = 101; seed < 101 + SEEDS; seed += 1) {
    const report = await runCampaign({ seed, cuts: CUTS_EACH, storage: DriveStore })
    cuts += report.cuts
  }
  t.diagnostic(`${cuts} cuts`)
  assert.ok(cuts >= 2_000, `${cuts} cuts`)
})
