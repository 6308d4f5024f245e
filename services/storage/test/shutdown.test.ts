/** Stopping: what was accepted is finished or answered, nothing is stranded, nothing is left behind. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compareLive, type LiveEntry } from '@cairn/kernel/testing'
import { addressOf } from '@cairn/wire'
import { isProblem, readAnswer } from '../../../verify/virtual/answer.ts'
import { gated, gates } from '../../../verify/virtual/disk/gated-disk.ts'
import { noise } from '../../../verify/virtual/noise.ts'
import { STORAGE_TOPOLOGY } from '../src/topology.ts'
import { TestService } from './harness.ts'

async function settle(service: TestService): Promise<void> {
  await service.world.clock.settle()
}

test('puts under way and puts in the queue are finished; new requests are refused; then everything is closed', async () => {
  const shut = gates()
  const service = await TestService.start({ config: { pools: { put: 1 } }, wrap: (platform) => gated(platform, shut) })
  shut.writes.shut()
  const bodies = Array.from({ length: 20 }, (_, at) => noise(1000, at + 1))
  const puts = bodies.map(async (body) => await service.send('POST', '/o', { body }))
  await settle(service)
  const stopping = service.running.stop()
  await settle(service)
  const late = await service.send('POST', '/o', { body: 'late' })
  isProblem(late, 503, 'draining')
  assert.equal(late.headers['connection'], 'close')
  isProblem(await service.send('GET', '/readyz'), 503, 'draining')
  assert.equal((await service.send('GET', '/healthz')).status, 200)
  shut.writes.open()
  for (const { status } of await service.world.run(Promise.all(puts))) assert.equal(status, 201)
  assert.deepEqual(await service.world.run(stopping), { aborted: [], abandoned: [] })
  await service.world.run(service.platform.workers.close())
  assert.deepEqual(service.world.leaks(), [])
  service.machine.kill()
  const again = await TestService.start({}, service.world, service.machine)
  for (const bytes of bodies) assert.ok((await again.ask('GET', `/o/${addressOf(bytes)}`)).body.equals(bytes))
  await again.stop()
})

test('at the drain deadline what still waits is answered 503 and counted', async () => {
  const shut = gates()
  const service = await TestService.start({
    config: { pools: { put: 1 }, drive_timeout: '10s', ingress: { request_timeout: '60s' } },
    wrap: (platform) => gated(platform, shut),
  })
  shut.writes.shut()
  const puts = Array.from({ length: 5 }, async (_, at) => await service.send('POST', '/o', { body: noise(10, at) }))
  await settle(service)
  const stopping = service.running.stop()
  for (const answer of await service.world.run(Promise.all(puts))) isProblem(answer, 503, 'canceled')
  assert.equal(service.metric('tasks_aborted_total', { kind: 'request' }), 5)
  shut.writes.open()
  const { aborted } = await service.world.run(stopping)
  assert.ok(aborted.includes('put-worker'))
  await service.world.run(service.platform.workers.close())
  assert.deepEqual(service.world.leaks(), [])
})

test('an answer that is being read is finished within the deadline, one nobody reads is ended', async () => {
  const service = await TestService.start({ config: { cache_bytes: 0 } })
  const bytes = noise(3 * 1024 * 1024)
  await service.ask('POST', '/o?stream', { body: bytes })
  const [read, unread] = await service.world.run(
    Promise.all([1, 2].map(async () => await service.begin('GET', `/o/${addressOf(bytes)}`))),
  )
  const stopping = service.running.stop()
  assert.ok((await service.world.run(readAnswer(read!))).body.equals(bytes))
  await service.sleep(4000)
  const left = await service.world.run(readAnswer(unread!))
  assert.ok(left.broken !== undefined)
  await service.world.run(stopping)
  await service.world.run(service.platform.workers.close())
  assert.deepEqual(service.world.leaks(), [])
})

test('repairs in the queue are made before the end; a scrub stops where it is and goes on from there', async () => {
  const service = await TestService.start({ config: { durability: { scrub_pacing: '64KiB' } } })
  const bytes = noise(600 * 64_000)
  for (let at = 0; at < 600; at += 1)
    await service.ask('POST', '/o', { body: bytes.subarray(at * 64_000, (at + 1) * 64_000) })
  await service.sleep(1000)
  await service.ask('POST', '/admin/scrub')
  await service.sleep(300_000)
  const before = service.parts.scrubs.report()
  assert.ok(before.coverage > 0.3 && before.coverage < 0.6, String(before.coverage))
  for (let at = 0; at < 50; at += 1)
    service.parts.repairs.offer(addressOf(bytes.subarray(at * 64_000, (at + 1) * 64_000)))
  await service.world.run(service.shutDown())
  assert.equal(service.metric('repair_bytes_total', { phase: 'executed' }), 50 * 64 * 1024)
  assert.deepEqual(service.world.leaks(), [])
  service.machine.kill()
  const again = await TestService.start(
    { config: { durability: { scrub_pacing: '64KiB' } } },
    service.world,
    service.machine,
  )
  await again.sleep(10)
  const { cursor, read, state } = again.parts.scrubs.report()
  assert.equal(state, 'reading')
  assert.ok(cursor !== null && before.cursor !== null && cursor.offset >= before.cursor.offset, 'it goes on')
  assert.ok(read >= before.read && read <= before.read + 8, String(read))
  await again.stop()
})

test('every task and channel that is declared is there, and no other', async () => {
  const service = await TestService.start({ config: { pools: { get: 2, put: 2, repair: 2 } } })
  const live = JSON.parse((await service.ask('GET', '/debug/topology')).body.toString()) as LiveEntry[]
  // The threads of the virtual platform are the machine's, not the service's.
  const own = live.filter(({ name }) => name !== 'workers')
  assert.deepEqual(compareLive(STORAGE_TOPOLOGY, own), { undeclared: [], missing: [] })
  assert.equal(service.metric('tasks_spawned_total', { kind: 'placement-client' }), 1)
  await service.stop()
})
