import { test } from 'node:test'
import { powerCutCampaign } from './power-cut-campaign.ts'

test('power cuts under a registry: what was said is true, nothing twice, one root for a size', async (t) => {
  t.diagnostic(await powerCutCampaign(140))
})
