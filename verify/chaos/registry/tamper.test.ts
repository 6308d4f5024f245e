import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { loadRegistry } from './registry-module.ts'
import { makeSpecimen } from './tamper.ts'
import { tamperLive, tamperPublished, tamperStored } from './tamper-campaign.ts'
import { publish, walk } from './tamper-remote.ts'

describe('whatever is changed in a registry is noticed', async () => {
  const registry = await loadRegistry()
  const specimen = await makeSpecimen(registry)
  const publication = await publish(registry)
  const { files, trust, now } = publication

  test('bits of what it stores, every class of place alike', async (t) => {
    t.diagnostic(await tamperStored(registry, specimen, 33, 1))
  })

  test('bits under a registry that runs: the deep verifier names the entry', async (t) => {
    t.diagnostic(await tamperLive(registry, specimen, 3, 3))
  })

  test('changes of what it publishes, every file alike', async (t) => {
    assert.equal(await walk(files, trust, now), undefined, 'as it is, it holds')
    t.diagnostic(await tamperPublished(publication, 27, 2))
  })

  test('a tile that does not match its parent, and a full tile cut short', async () => {
    const served = (path: string, bytes: Uint8Array) => walk(new Map([...files, [path, bytes]]), trust, now)
    const parent = new Uint8Array(files.get('/log/tile/1/000.p/1') ?? [])
    parent[0] = (parent[0] ?? 0) ^ 1
    assert.equal((await served('/log/tile/1/000.p/1', parent))?.index, 0)
    const full = new Uint8Array(files.get('/log/tile/0/000') ?? [])
    assert.equal(full.length, 256 * 32)
    assert.equal((await served('/log/tile/0/000', full.subarray(0, 255 * 32)))?.index, 0)
  })
})
