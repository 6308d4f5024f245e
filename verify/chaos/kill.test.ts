import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runKills } from './kill.ts'

test('kill -9 under load, again and again: nothing promised is lost, nothing removed is back', async (t) => {
  const { kills, promises } = await runKills(4, 1)
  t.diagnostic(`${kills} kills, ${promises} promises`)
  assert.ok(promises > 40)
})
