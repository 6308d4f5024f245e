import { test } from 'node:test'
import { loadRegistry } from './registry-module.ts'
import { tamperPublished } from './tamper-campaign.ts'
import { publish } from './tamper-remote.ts'

test('hundreds of changes of what a registry publishes are noticed', async (t) => {
  t.diagnostic(await tamperPublished(await publish(await loadRegistry()), 450, 1002))
})
