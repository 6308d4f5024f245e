import { test } from 'node:test'
import { killCampaign } from './kill-campaign.ts'

test('kill -9 of a registry, most of them at signed: what was said is true, nothing twice', async (t) => {
  t.diagnostic(await killCampaign('signed', 1200))
})
