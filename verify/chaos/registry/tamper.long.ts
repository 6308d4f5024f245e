import { describe, test } from 'node:test'
import { loadRegistry } from './registry-module.ts'
import { makeSpecimen } from './tamper.ts'
import { tamperLive, tamperPublished, tamperStored } from './tamper-campaign.ts'
import { publish } from './tamper-remote.ts'

describe('hundreds of changed bits of a registry are noticed', async () => {
  const registry = await loadRegistry()
  const specimen = await makeSpecimen(registry)

  test('of what it stores', async (t) => {
    t.diagnostic(await tamperStored(registry, specimen, 330, 1001))
  })

  test('of what it publishes', async (t) => {
    t.diagnostic(await tamperPublished(await publish(registry), 450, 1002))
  })

  test('under a registry that runs', async (t) => {
    t.diagnostic(await tamperLive(registry, specimen, 45, 1003))
  })
})
