/** Stopping: what was accepted is finished or answered, nothing is stranded, nothing is left behind. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Deadline, isKind } from '@cairn/kernel'
import { compareLive, type LiveEntry } from '@cairn/kernel/testing'
import { isProblem } from '../../../verify/virtual/answer.ts'
import { gated, gates } from '../../../verify/virtual/disk/gated-disk.ts'
import { REGISTRY_TOPOLOGY } from '../src/topology.ts'
import { TestService } from './harness.ts'
import { ALICE, named, QuorumClient, rootsOf } from './signers.ts'

const OPTIONS = rootsOf(1, [ALICE])

test('commands under way and in the queue are finished; new requests are refused; then everything is closed', async () => {
  const shut = gates()
  const service = await TestService.start({ ...OPTIONS, wrap: (platform) => gated(platform, shut) })
  shut.writes.shut()
  const quorum = new QuorumClient(service, 'send')
  const proposals = Array.from({ length: 20 }, async (_, at) => await quorum.propose([named(`n-${at}@1`, 'x')]))
  await service.world.clock.settle()
  const stopping = service.running.stop()
  await service.world.clock.settle()
  const late = await service.send('POST', '/registry/proposals', { body: {} })
  isProblem(late, 503, 'draining')
  assert.equal(late.headers['connection'], 'close')
  isProblem(await service.send('GET', '/readyz'), 503, 'draining')
  assert.equal((await service.send('GET', '/healthz')).status, 200)
  shut.writes.open()
  assert.equal((await service.world.run(Promise.all(proposals))).length, 20)
  assert.deepEqual(await service.world.run(stopping), { aborted: [], abandoned: [] })
  await service.world.run(service.platform.workers.close())
  assert.deepEqual(service.world.leaks(), [])
})

test('at the drain deadline what still waits is answered 503; the batch under way is completed by the next start', async () => {
  const shut = gates()
  const wrap = (platform: TestService['platform']): TestService['platform'] => gated(platform, shut)
  const config = { ...OPTIONS.config, drive_timeout: '10s', ingress: { request_timeout: '60s' } } as const
  const service = await TestService.start({ ...OPTIONS, config, wrap })
  const quorum = new QuorumClient(service)
  const opened = await quorum.propose([named('a@1', 'x')])
  await quorum.approve(opened, ALICE)
  shut.writes.shut()
  const commit = service.send('POST', `/registry/commit/${opened.proposal_id}`)
  await service.world.clock.settle()
  const stopping = service.running.stop()
  isProblem(await service.world.run(commit), 503, 'Canceled')
  assert.equal(service.metric('tasks_aborted_total', { kind: 'request' }), 1)
  shut.writes.open()
  await service.world.run(stopping)
  await service.world.run(service.platform.workers.close())
  service.machine.kill()
  const again = await TestService.start(OPTIONS, service.world, service.machine)
  assert.equal((await new QuorumClient(again).commit(opened)).fields()['version'], 1)
  await again.stop()
})

test('a commit whose checkpoint the drive refuses is answered as soon as the drain is over, not at its deadline', async () => {
  const config = { ...OPTIONS.config, drive_timeout: '30s', ingress: { request_timeout: '60s' } } as const
  const shut = gates()
  let armed = false
  const reach = (point: string): void => {
    if (armed && point === 'signed') shut.writes.shut()
  }
  const service = await TestService.start({ ...OPTIONS, config, reach, wrap: (platform) => gated(platform, shut) })
  const quorum = new QuorumClient(service)
  const opened = await quorum.propose([named('a@1', 'x')])
  await quorum.approve(opened, ALICE)
  armed = true
  const beganAt = service.platform.clock.now()
  const asked = service.parts.intake.ask(
    { tag: 'commit', proposalId: opened.proposal_id, corrId: 'x' },
    { deadline: Deadline.after(service.platform.clock, 60_000) },
  )
  const refused = assert.rejects(asked, (error) => isKind(error, 'Canceled'))
  await service.world.clock.settle()
  const stopping = service.running.stop()
  await service.world.run(refused)
  assert.ok(service.platform.clock.now() - beganAt < 3_100, 'the drain deadline is 3 s')
  shut.writes.open()
  await service.world.run(stopping)
  await service.world.run(service.platform.workers.close())
})

test('an open stream ends when the drain begins', async () => {
  const service = await TestService.start(OPTIONS)
  const { body } = await service.world.run(service.begin('GET', '/registry/stream', { token: null }))
  const iterator = (body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]()
  const next = iterator.next()
  const stopping = service.running.stop()
  assert.equal((await service.world.run(next)).done, true)
  await service.world.run(stopping)
  await service.world.run(service.platform.workers.close())
  assert.deepEqual(service.world.leaks(), [])
})

test('every task and channel that is declared is there, and no other', async () => {
  const service = await TestService.start(OPTIONS)
  const live = (await service.ask('GET', '/debug/topology')).json() as LiveEntry[]
  // The threads of the virtual platform are the machine's, not the service's.
  const own = live.filter(({ name }) => name !== 'workers')
  assert.deepEqual(compareLive(REGISTRY_TOPOLOGY, own), { undeclared: [], missing: [] })
  await service.stop()
})
