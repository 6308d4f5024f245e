/** As many power cuts as there is time for: several campaigns, each with seeds of its own. */
import assert from 'node:assert/strict'
import { runCampaign } from './power-cut.ts'
import { loadRegistry } from './registry-module.ts'

const CUTS_EACH = 60
const SEEDS_MAX = 12
/** No seed is begun after so long. */
const BUDGET_MS = 50_000

/** Says how many, and what was found; throws, naming the cut, if a promise is broken. */
export async function powerCutCampaign(seedFrom: number): Promise<string> {
  const registry = await loadRegistry()
  const beganAt = performance.now()
  const total = { seeds: 0, cuts: 0, ahead: 0, pruned: 0 }
  while (total.seeds < SEEDS_MAX && performance.now() - beganAt < BUDGET_MS) {
    const report = await runCampaign({ seed: seedFrom + total.seeds, cuts: CUTS_EACH, registry })
    total.seeds += 1
    total.cuts += report.cuts
    total.ahead += report.ahead
    total.pruned += report.pruned
  }
  const { seeds, cuts, ahead, pruned } = total
  assert.ok(cuts > 0)
  return `${cuts} cuts, ${seeds} seeds; ${ahead} found a commit under way durable, ${pruned} a pruned log`
}
