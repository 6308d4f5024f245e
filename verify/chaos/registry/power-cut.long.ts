import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { runCampaign } from './power-cut.ts'
import { loadRegistry } from './registry-module.ts'

const SEEDS = 14
const CUTS_EACH = 170

describe('thousands of power cuts under a registry', async () => {
  const registry = await loadRegistry()
  test('what was said is true, nothing twice, one root for a size', async (t) => {
    const total = { cuts: 0, ahead: 0, pruned: 0 }
    for (let seed = 101; seed < 101 + SEEDS; seed += 1) {
      const { cuts, ahead, pruned } = await runCampaign({ seed, cuts: CUTS_EACH, registry })
      total.cuts += cuts
      total.ahead += ahead
      total.pruned += pruned
    }
    t.diagnostic(`${total.cuts} cuts; ${total.ahead} found a commit under way durable, ${total.pruned} a pruned log`)
    assert.ok(total.cuts >= 2_000, `${total.cuts} cuts`)
    assert.ok(total.ahead > 0 && total.pruned > 0)
  })
})
