import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runCampaign } from './power-cut.ts'
import { loadRegistry } from './registry-module.ts'

test('power cuts under a registry: what was said is true, nothing twice, one root for a size', async (t) => {
  const { cuts, possible, marks, versions, ahead, pruned } = await runCampaign({
    seed: 6,
    cuts: 40,
    registry: await loadRegistry(),
  })
  t.diagnostic(
    `${cuts} of ${possible} cuts, held to ${marks} answers and signatures, ${versions} versions; ${ahead} found a commit under way durable, ${pruned} a pruned log`,
  )
  assert.ok(cuts > 20 && ahead > 0 && pruned > 0)
})
