import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runKills } from './kill.ts'

test('kill -9 under load, hundreds of times', async (t) => {
  let kills = 0
  for (let seed = 1; seed <= 10; seed += 1) kills += (await runKills(22, seed * 1_000)).kills
  t.diagnostic(`${kills} kills`)
  assert.ok(kills >= 200)
})
