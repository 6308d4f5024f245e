import { test } from 'node:test'
import { killCampaign } from './kill-campaign.ts'

test('kill -9 of a registry, most of them at entries-written: what was said is true, nothing twice', async (t) => {
  t.diagnostic(await killCampaign('entries-written', 1000))
})
