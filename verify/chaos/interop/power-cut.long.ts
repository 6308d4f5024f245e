import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadInterop } from './interop-module.ts'
import { runCampaign } from './power-cut.ts'

const SEEDS = 10
const CUTS_EACH = 120
const CUTS_MIN = 1_000

test('a thousand power cuts under interop: every 202 is there once, every acknowledgement holds, the audit is whole', async (t) => {
  const interop = await loadInterop()
  const total = { cuts: 0, ahead: 0, letGo: 0 }
  for (let seed = 101; seed < 101 + SEEDS; seed += 1) {
    const { cuts, ahead, letGo } = await runCampaign({ seed, cuts: CUTS_EACH, interop })
    total.cuts += cuts
    total.ahead += ahead
    total.letGo += letGo
  }
  t.diagnostic(
    `${total.cuts} cuts; ${total.ahead} webhooks found accepted unheard, ${total.letGo} cuts after segments had gone`,
  )
  assert.ok(total.cuts >= CUTS_MIN, `${total.cuts} cuts`)
  assert.ok(total.ahead > 0 && total.letGo > 0)
})
