import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runKills, tell } from './kill.ts'

/** Each is a campaign by itself, on a directory and with a seed of its own. */
const SEEDS: readonly number[] = [2, 3, 4, 5]
const KILLS_EACH = 25
const ACCEPTED_MIN = 250

for (const seed of SEEDS) {
  test(`kill -9 of interop at 200 webhooks a second, seed ${seed}: every 202 is delivered, once for each rule`, async (t) => {
    const report = await runKills(KILLS_EACH, seed)
    t.diagnostic(tell(report))
    assert.equal(report.kills, KILLS_EACH)
    assert.ok(report.accepted > ACCEPTED_MIN, tell(report))
  })
}
