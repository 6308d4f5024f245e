/** A hundred kills in four slices: each is a campaign by itself, on a directory and with a seed of its own. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runKills, tell } from './kill.ts'

const KILLS_EACH = 25
const ACCEPTED_MIN = 250

export function testKillSlice(slice: number): void {
  test(`kill -9 of interop at 200 webhooks a second, slice ${slice} of 4: every 202 is delivered, once for each rule`, async (t) => {
    const report = await runKills(KILLS_EACH, 1 + slice)
    t.diagnostic(tell(report))
    assert.equal(report.kills, KILLS_EACH)
    assert.ok(report.accepted > ACCEPTED_MIN, tell(report))
  })
}
