import { test } from 'node:test'
import { killCampaign } from './kill-campaign.ts'

test('kill -9 of a registry, at random moments: what was said is true, nothing twice', async (t) => {
  t.diagnostic(await killCampaign(undefined, 2000))
})
