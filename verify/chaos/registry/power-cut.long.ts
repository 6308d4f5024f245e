import { test } from 'node:test'
import { powerCutCampaign } from './power-cut-campaign.ts'

/** The first seed of each campaign; the next one is beyond the last seed that a campaign tries. */
const FIRST_SEEDS: readonly number[] = [100, 120, 140, 160, 180]

for (const seed of FIRST_SEEDS) {
  test(`power cuts under a registry, from seed ${seed}: what was said is true, nothing twice, one root for a size`, async (t) => {
    t.diagnostic(await powerCutCampaign(seed))
  })
}
