/** The life of a name: proposed, approved by two of three, committed, read, proved. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { artifactHash, itemHash, parseArtifact, parseProof, verifyProof } from '@cairn/names'
import { systemCrypto } from '@cairn/platform'
import { openCheckpoint } from '@cairn/tlog'
import { parseJson } from '@cairn/wire'
import type { VersionSummary } from '../src/domain/ledger.ts'
import { TestService } from './harness.ts'
import { ALICE, address, BOB, CAROL, named, QuorumClient, rootsOf } from './signers.ts'

test('a name goes through proposal, two approvals and a commit, and its proof is worth something offline', async () => {
  const service = await TestService.start(rootsOf(2, [ALICE, BOB, CAROL]))
  const quorumClient = new QuorumClient(service)
  const item = named('site@1.0', 'one')
  const opened = await quorumClient.propose([item])
  assert.deepEqual([opened.quorum.m, opened.quorum.n], [2, 3])
  assert.equal((await quorumClient.approve(opened, ALICE)).status, 200)
  const early = await quorumClient.commit(opened)
  assert.equal(`${early.status} ${early.code}`, '422 QuorumFailed')
  const second = await quorumClient.approve(opened, CAROL)
  assert.deepEqual([second.status, second.fields()['approvals']], [200, 2])
  const committed = await quorumClient.commit(opened)
  assert.equal(committed.status, 201)
  const facts = committed.json() as VersionSummary
  assert.deepEqual([facts.version, facts.log_index], [1, 4])
  assert.deepEqual((await quorumClient.commit(opened)).json(), committed.json(), 'asked again: the same answer')

  const head = (await service.ask('GET', '/registry/head', { token: null })).fields()
  assert.deepEqual([head['version'], head['hash'], head['minimum_index']], [1, facts.hash, 0])
  const read = await service.ask('GET', '/registry/1', { token: null })
  assert.equal(artifactHash(parseArtifact(parseJson(read.body))), facts.hash)
  const name = await service.ask('GET', '/registry/names/site@1.0', { token: null })
  assert.deepEqual(name.json(), { name: 'site@1.0', version: 1, item })

  const { signer } = service.parts
  const trust = { ...signer.identity, logKeys: [signer.logKey, signer.cosignerKey] }
  const note = (await service.ask('GET', '/log/checkpoint', { token: null })).body
  const { checkpoint } = openCheckpoint(note, { ...trust, cosignerKeys: [] }, systemCrypto)
  assert.equal(checkpoint.size, 5)
  for (const path of ['/registry/proof/1', '/registry/proof/name/site@1.0', '/registry/proof/0?from=1']) {
    const proof = parseProof((await service.ask('GET', path, { token: null })).body)
    const verdict = verifyProof(proof, trust, systemCrypto, { now: service.platform.clock.wall() })
    assert.equal(verdict.kind, 'verified', `${path}: ${JSON.stringify(verdict)}`)
  }
  const later = await quorumClient.publish([named('site@1.0', 'two', itemHash(item))], [ALICE, BOB])
  assert.equal(later.version, 2)
  const before = await service.ask('GET', '/registry/names/site@1.0?at=1', { token: null })
  assert.deepEqual((before.json() as { item: { manifest: string } }).item.manifest, address('one'))
  await service.stop()
})

test('what was committed, proposed and approved is there after a restart', async () => {
  const options = rootsOf(2, [ALICE, BOB, CAROL])
  const service = await TestService.start(options)
  const quorumClient = new QuorumClient(service)
  await quorumClient.publish([named('a@1', 'one')], [ALICE, BOB])
  const opened = await quorumClient.propose([named('b@1', 'two')])
  await quorumClient.approve(opened, BOB)
  const before = (await service.ask('GET', '/registry/head')).json()
  const note = (await service.ask('GET', '/log/checkpoint')).body
  const again = await service.restart(options)
  assert.deepEqual((await again.ask('GET', '/registry/head')).json(), before)
  assert.deepEqual((await again.ask('GET', '/log/checkpoint')).body, note)
  assert.equal(again.metric('registry_recoveries_total', { kind: 'startup' }), 1)
  const goOn = new QuorumClient(again)
  assert.equal((await goOn.approve(opened, CAROL)).status, 200)
  assert.equal((await goOn.commit(opened)).fields()['version'], 2)
  await again.stop()
})
