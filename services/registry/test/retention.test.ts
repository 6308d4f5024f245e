/** Pruning: what may go goes, what is alive stays, and everything that ever was is still proved. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { itemHash, parseProof, verifyProof } from '@cairn/names'
import { systemCrypto } from '@cairn/platform'
import { inclusionProof, verifyInclusion } from '@cairn/tlog'
import { isProblem } from '../../../verify/virtual/answer.ts'
import { VirtualWorld } from '../../../verify/virtual/world.ts'
import type { CrashPoint } from '../src/domain/crash-points.ts'
import { type ServiceOptions, TestService } from './harness.ts'
import { ALICE, BOB, named, QuorumClient, rootsOf } from './signers.ts'

const ROOTS = rootsOf(1, [ALICE, BOB])

function keeping(retention: NonNullable<ServiceOptions['config']>['retention']): ServiceOptions {
  return { ...ROOTS, segmentBytes: 16 * 1024, config: { ...ROOTS.config, checkpoint_interval: '1m', retention } }
}

const BY_COUNT = keeping({ policy: 'by-count', max_count: 100 })

/** A name that moves `count` times, and one that is set once and stays. */
async function history(service: TestService, count: number): Promise<void> {
  const quorum = new QuorumClient(service)
  await quorum.publish([named('stays@1', 'x')], [ALICE])
  let last = named('moves@1', '0')
  await quorum.publish([last], [ALICE])
  for (let at = 1; at < count; at += 1) {
    last = named('moves@1', String(at), itemHash(last))
    await quorum.publish([last], [at % 2 === 0 ? ALICE : BOB])
  }
}

async function everythingHolds(service: TestService): Promise<void> {
  const { signer, log, published } = service.parts
  const trust = { ...signer.identity, logKeys: [signer.logKey, signer.cosignerKey] }
  const { size } = published.value
  const reader = log.hashes(size)
  const root = await log.rootAt(size)
  for (let index = 0; index < size; index += index < 20 ? 1 : 9) {
    const leaf = log.leafHashes(index, index + 1)
    verifyInclusion({ index, size, leaf, root, proof: await inclusionProof(index, size, reader) })
  }
  for (const path of [
    '/registry/proof/0',
    '/registry/proof/1',
    '/registry/proof/name/stays@1',
    '/registry/proof/name/moves@1',
  ]) {
    const answer = await service.ask('GET', path, { token: null })
    assert.equal(answer.status, 200, path)
    const verdict = verifyProof(parseProof(answer.body), trust, systemCrypto, { now: service.platform.clock.wall() })
    assert.equal(verdict.kind, 'verified', `${path} ${JSON.stringify(verdict)}`)
  }
}

/** What a name meant at a version that is gone cannot be said any more: not that it meant nothing. */
async function unknownMeaningIsPruned(service: TestService): Promise<void> {
  isProblem(await service.ask('GET', '/registry/names/moves@1?at=3'), 410, 'Pruned')
  isProblem(await service.ask('GET', '/registry/names/nobody@1?at=3'), 410, 'Pruned')
  isProblem(await service.ask('GET', '/registry/names/nobody@1'), 404, 'NotFound')
  assert.equal((await service.ask('GET', '/registry/names/stays@1?at=3')).fields()['version'], 1)
  const { version } = service.parts.published.value.head
  assert.equal((await service.ask('GET', `/registry/names/moves@1?at=${version}`)).status, 200)
}

async function isPruned(service: TestService): Promise<void> {
  const minimum = service.parts.log.minimumIndex
  assert.ok(minimum > 0)
  const gone = await service.ask('GET', '/registry/3', { token: null })
  isProblem(gone, 410, 'Pruned')
  assert.match(String(gone.fields()['detail']), new RegExp(`from index ${minimum} on`))
  isProblem(await service.ask('GET', '/log/tile/entries/000.p/3', { token: null }), 410, 'Pruned')
  assert.equal((await service.ask('GET', '/log/tile/0/000.p/3', { token: null })).status, 200, 'hashes stay')
  assert.equal((await service.ask('GET', '/registry/head')).fields()['minimum_index'], minimum)
  assert.deepEqual((await service.ask('GET', '/registry/names/stays@1')).fields()['version'], 1)
}

describe('retention', () => {
  test('is off unless asked for', async () => {
    const service = await TestService.start({ ...BY_COUNT, config: { ...ROOTS.config, checkpoint_interval: '1m' } })
    await history(service, 40)
    await service.sleep(200_000)
    assert.deepEqual([service.parts.log.minimumIndex, service.metric('registry_pruned_entries_total')], [0, 0])
    await service.stop()
  })

  test('by count: old entries go, live artifacts and signer sets stay, every inclusion proof verifies, also after a restart', async () => {
    const service = await TestService.start(BY_COUNT)
    await history(service, 45)
    const before = service.parts.log.facts().segments
    await service.sleep(130_000)
    await isPruned(service)
    assert.ok(service.parts.log.facts().segments < before)
    await everythingHolds(service)
    const repeated = service.parts.ledger.facts(3)
    const again = await service.restart(BY_COUNT)
    await isPruned(again)
    await everythingHolds(again)
    await unknownMeaningIsPruned(again)
    assert.deepEqual(again.parts.ledger.facts(3), repeated)
    const last = again.parts.published.value.state.get('name', 'moves@1')
    await new QuorumClient(again).publish([named('moves@1', 'on', itemHash(last!))], [ALICE])
    await again.sleep(130_000)
    await everythingHolds(again)
    const third = await again.restart(BY_COUNT)
    await everythingHolds(third)
    assert.equal((await third.ask('GET', '/registry/head')).fields()['version'], 47)
    await third.stop()
  })

  test('by age: what is older than that goes once a checkpoint covers it, and nothing younger', async () => {
    const options = keeping({ policy: 'by-age', max_age: '2h' })
    const service = await TestService.start(options)
    await history(service, 45)
    const old = service.parts.published.value.size
    await service.sleep(90 * 60_000)
    assert.equal(service.parts.log.minimumIndex, 0, 'an hour and a half is not two')
    const last = service.parts.published.value.state.get('name', 'moves@1')
    await new QuorumClient(service).publish([named('moves@1', 'on', itemHash(last!))], [ALICE])
    await service.sleep(35 * 60_000)
    const minimum: number = service.parts.published.value.minimumIndex
    assert.ok(minimum > 0 && minimum <= old, `${minimum} of ${old}`)
    await everythingHolds(service)
    const again = await service.restart(options)
    await isPruned(again)
    await everythingHolds(again)
    await again.stop()
  })

  test('by size: the oldest segments go until the rest fits, and the active one never', async () => {
    const service = await TestService.start(keeping({ policy: 'off' }))
    await history(service, 45)
    const { bytes } = service.parts.log.facts()
    const target = 48 * 1024
    assert.ok(bytes > 2 * target, `${bytes} bytes`)
    const { current } = service.config
    const retention = { ...current.retention, policy: 'by-size', target_bytes: target } as const
    service.config.swap({ values: { ...current, retention }, origins: {} })
    await service.sleep(130_000)
    const after = service.parts.log.facts().bytes
    assert.ok(after <= target + 16 * 1024 && after > target / 2, `${after} bytes`)
    await isPruned(service)
    await everythingHolds(service)
    await service.stop()
  })

  test('with a policy that nothing is old enough for, nothing goes, however many checkpoints there are', async () => {
    const service = await TestService.start(keeping({ policy: 'by-age', max_age: '1d' }))
    await history(service, 45)
    await service.sleep(60 * 60_000)
    assert.equal(service.parts.log.minimumIndex, 0)
    await service.stop()
  })

  test('nothing after a proposal that is open goes', async () => {
    const service = await TestService.start(BY_COUNT)
    const opened = await new QuorumClient(service).propose([named('open@1', 'x')])
    await history(service, 45)
    await service.sleep(130_000)
    assert.deepEqual([service.parts.log.minimumIndex], [0])
    await new QuorumClient(service).approve(opened, ALICE)
    await new QuorumClient(service).commit(opened)
    await service.sleep(130_000)
    assert.ok(service.parts.log.minimumIndex > 0)
    await service.stop()
  })

  test('cut off in the middle, it is completed by the next start', async () => {
    for (const how of ['crash', 'kill'] as const) {
      const world = new VirtualWorld(5)
      const machine = world.machine('node')
      let armed = true
      const reach = (point: CrashPoint): Promise<void> | undefined => {
        if (!armed || point !== 'mid-prune') return undefined
        machine[how]()
        return new Promise(() => {})
      }
      const service = await TestService.start({ ...BY_COUNT, reach }, world, machine)
      await history(service, 45)
      await world.run(world.sleep(130_000))
      assert.equal(machine.isUp, false, 'the point was reached')
      armed = false
      const again = await TestService.start({ ...BY_COUNT, reach }, world, machine)
      await again.sleep(1000)
      await isPruned(again)
      await everythingHolds(again)
      await again.stop()
    }
  })
})
