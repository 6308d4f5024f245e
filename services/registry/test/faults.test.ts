/**
 * A fault at every call that a commit makes to the drive. Whatever happens: the right status, reads go on, what was
 * acknowledged stays, no root is signed twice, and writes are taken again only after the drive has proved itself.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { isProblem } from '../../../verify/virtual/answer.ts'
import { gated, gates } from '../../../verify/virtual/disk/gated-disk.ts'
import type { Fault, FaultyOperation } from '../../../verify/virtual/faults.ts'
import type { VersionSummary } from '../src/domain/ledger.ts'
import { type ServiceOptions, TestService } from './harness.ts'
import { readRecords } from './journal-records.ts'
import { ALICE, BOB, named, QuorumClient, rootsOf } from './signers.ts'

const OPTIONS = rootsOf(1, [ALICE, BOB])
const FAULTS: readonly (readonly [FaultyOperation, Fault])[] = [
  ['append', 'io-error'],
  ['append', 'no-space'],
  ['append', 'short-write'],
  ['sync', 'io-error'],
]
const JOURNAL = /\.seg/

describe('a fault while a commit is made durable', () => {
  for (const [operation, fault] of FAULTS) {
    for (const nth of [1, 2]) {
      test(`${fault} at ${operation} ${nth}: ${nth === 1 ? 'nothing of it counts' : 'it is completed'}`, async () => {
        const service = await TestService.start(OPTIONS)
        const quorum = new QuorumClient(service)
        const done = await quorum.publish([named('a@1', 'x')], [ALICE])
        const opened = await quorum.propose([named('b@1', 'y')])
        await quorum.approve(opened, ALICE)
        service.machine.faults.plan({ operation, path: JOURNAL, nth, fault })
        const answer = await quorum.commit(opened)
        if (nth === 1) {
          const code = fault === 'no-space' ? '507 no_space' : '503 StorageBusy'
          assert.equal(`${answer.status} ${answer.code}`, code)
          assert.equal(service.metric('storage_backoff_total', { op: 'entries' }), 1)
          const head = (await service.ask('GET', '/registry/head')).json() as VersionSummary
          assert.equal(head.hash, done.hash)
        } else {
          // The entries were durable: the checkpoint is tried again until it is as well.
          assert.equal(answer.status, 201)
          assert.ok(service.metric('storage_backoff_total', { op: 'checkpoint' }) >= 1)
        }
        await service.sleep(6000)
        const again = (await quorum.commit(opened)).json() as VersionSummary
        assert.equal(again.version, 2)
        const restarted = await service.restart(OPTIONS)
        assert.equal((await restarted.ask('GET', '/registry/head')).fields()['version'], 2)
        assert.deepEqual((await new QuorumClient(restarted).commit(opened)).json(), again)
        await restarted.stop()
        for (const [size, roots] of (await readRecords(restarted)).roots) assert.equal(roots.size, 1, `size ${size}`)
      })
    }
  }
})

function onSlowDrive(): { shut: ReturnType<typeof gates>; options: ServiceOptions } {
  const shut = gates()
  const config = { ...OPTIONS.config, drive_timeout: '1s' }
  return { shut, options: { ...OPTIONS, config, wrap: (platform) => gated(platform, shut) } }
}

test('StorageBusy: a drive that hangs makes writes unready first; reads are served, and writes come back with the drive', async () => {
  const { shut, options } = onSlowDrive()
  const service = await TestService.start(options)
  const quorum = new QuorumClient(service)
  await quorum.publish([named('a@1', 'x')], [ALICE])
  assert.equal((await service.ask('GET', '/registry/proof/1')).status, 200)
  shut.writes.shut()
  const body = { payload: { items: [named('b@1', 'y')] } }
  isProblem(await service.ask('POST', '/registry/proposals', { body }), 503, 'StorageBusy')
  await service.sleep(600)
  const ready = await service.ask('GET', '/readyz')
  assert.equal(ready.status, 200)
  assert.deepEqual(
    [ready.fields()['ready'], ready.fields()['write_ready'], ready.fields()['degraded']],
    [true, false, true],
  )
  const write = await service.ask('GET', '/readyz?class=write')
  isProblem(write, 503, 'not_ready')
  assert.deepEqual([write.fields()['ready'], write.fields()['missing']], [false, ['log_writable']])
  const refused = await service.ask('POST', '/registry/proposals', { body })
  isProblem(refused, 503, 'NotReady')
  // From memory: what is published, and artifacts that were read before.
  for (const path of ['/registry/head', '/registry/1', '/registry/names/a@1', '/log/checkpoint', '/registry/proof/1'])
    assert.equal((await service.ask('GET', path, { token: null })).status, 200, path)
  shut.writes.open()
  await service.sleep(10_000)
  assert.equal((await service.ask('GET', '/readyz')).fields()['write_ready'], true)
  assert.equal((await service.ask('GET', '/readyz?class=write')).status, 200)
  assert.equal((await service.ask('POST', '/registry/proposals', { body })).status, 202)
  await service.stop()
})

test('a drive that hangs between entries and checkpoint: nobody hears of the version before it is signed durably', async () => {
  const { shut, options } = onSlowDrive()
  let armed = false
  const reach = (point: string): void => {
    if (armed && point === 'signed') shut.writes.shut()
  }
  const service = await TestService.start({ ...options, reach })
  const quorum = new QuorumClient(service)
  const opened = await quorum.propose([named('a@1', 'x')])
  await quorum.approve(opened, ALICE)
  armed = true
  const slow = await service.ask('POST', `/registry/commit/${opened.proposal_id}`, {
    headers: { 'request-timeout': '4s' },
  })
  isProblem(slow, 504, 'Timeout')
  assert.equal((await service.ask('GET', '/registry/head')).fields()['version'], 0)
  isProblem(await service.ask('GET', '/registry/1'), 404, 'NotFound')
  armed = false
  shut.writes.open()
  await service.sleep(8000)
  assert.equal((await service.ask('GET', '/registry/head')).fields()['version'], 1)
  await service.stop()
})

test('a full drive is 507 for writes, nothing for reads, and over once there is room', async () => {
  const service = await TestService.start(OPTIONS)
  const quorum = new QuorumClient(service)
  await quorum.publish([named('a@1', 'x')], [ALICE])
  const { drive } = service.machine
  const capacity = drive.capacityBytes
  const { freeBytes } = drive.space
  drive.capacityBytes = capacity - freeBytes + 1024
  await service.sleep(100)
  let refused = 0
  for (let at = 0; at < 40; at += 1) {
    const body = { payload: { items: [named(`b-${at}@1`, 'y')] } }
    const { status, code } = await service.ask('POST', '/registry/proposals', { body })
    if (status === 202) continue
    assert.match(`${status} ${code}`, /^(507 no_space|503 (NotReady|StorageBusy)|504 Timeout)$/)
    refused += 1
  }
  assert.ok(refused > 0)
  assert.equal((await service.ask('GET', '/registry/head')).fields()['version'], 1)
  drive.capacityBytes = capacity
  await service.sleep(10_000)
  assert.equal((await quorum.publish([named('c@1', 'z')], [ALICE])).version, 2)
  await service.stop()
})

test('a start on a drive that cannot write says so and leaves nothing behind', async () => {
  const service = await TestService.start(OPTIONS)
  await service.stop()
  service.machine.kill()
  service.machine.faults.plan({ operation: 'list', path: /journal/, fault: 'io-error' })
  await assert.rejects(TestService.start(OPTIONS, service.world, service.machine))
  // The machine's own threads are not the service's to close.
  assert.deepEqual(
    service.world.leaks().filter((leak) => !leak.endsWith(' workers')),
    [],
  )
  service.machine.kill()
  const again = await TestService.start(OPTIONS, service.world, service.machine)
  await again.stop()
})
