/** Every bound of the service, reached: what is refused, how fast, and what goes on meanwhile. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CairnError } from '@cairn/kernel'
import { isStream } from '@cairn/transport'
import { addressOf } from '@cairn/wire'
import { type Answer, isProblem, readAnswer } from '../../../verify/virtual/answer.ts'
import { gated, gates } from '../../../verify/virtual/disk/gated-disk.ts'
import { noise } from '../../../verify/virtual/noise.ts'
import { type ServiceOptions, TestService } from './harness.ts'
import { CHUNK, clientObject } from './objects.ts'

function withGates(config: ServiceOptions['config'] = {}) {
  const shut = gates()
  return { gates: shut, options: { config, wrap: (platform) => gated(platform, shut) } satisfies ServiceOptions }
}

/** Lets everything that needs no time happen. */
async function settle(service: TestService): Promise<void> {
  await service.world.clock.settle()
}

test('a full work queue answers 429 with Retry-After at once, while hot reads are answered', async () => {
  const { gates: shut, options } = withGates({
    pools: { put: 1 },
    drive_timeout: '60s',
    ingress: { request_timeout: '50s' },
  })
  const service = await TestService.start(options)
  const hot = noise(1000, 1)
  await service.ask('POST', '/o', { body: hot })
  // What is read twice is kept.
  for (const _ of [1, 2]) await service.ask('GET', `/o/${addressOf(hot)}`)
  shut.writes.shut()
  // One is worked on; 384 wait: the queue of 512 less the share of the reads.
  const answers: Promise<Answer>[] = []
  for (let put = 0; put < 385; put += 1) answers.push(service.send('POST', '/o', { body: noise(50, put + 10) }))
  await settle(service)
  const before = service.world.clock.now()
  const refused = service.send('POST', '/o', { body: noise(50, 9) })
  await settle(service)
  isProblem(await refused, 429, 'busy')
  assert.equal(service.world.clock.now(), before, 'no time has passed')
  assert.equal(service.metric('busy_rejections_total', { endpoint: '/o' }), 1)
  assert.equal(service.parts.work.queue.facts().depth, 384)
  assert.equal(service.parts.work.queue.facts().lost, 1)
  const read = service.send('GET', `/o/${addressOf(hot)}`)
  await settle(service)
  assert.deepEqual((await read).body, hot)
  assert.equal(service.world.clock.now(), before, 'still none')
  shut.writes.open()
  const statuses = (await service.world.run(Promise.all(answers))).map(({ status }) => status)
  assert.deepEqual(new Set(statuses), new Set([201]), 'what was accepted is done')
  await service.stop()
})

test('the reserved share of the queue is for reads: writes cannot crowd them out', async () => {
  const { gates: shut, options } = withGates({
    pools: { put: 1, get: 1 },
    cache_bytes: 0,
    drive_timeout: '60s',
    ingress: { request_timeout: '50s' },
  })
  const service = await TestService.start(options)
  const cold = noise(1000, 1)
  await service.ask('POST', '/o', { body: cold })
  shut.writes.shut()
  shut.reads.shut()
  const writes = Array.from(
    { length: 385 },
    async (_, put) => await service.send('POST', '/o', { body: noise(50, put + 10) }),
  )
  await settle(service)
  const reads = Array.from({ length: 129 }, async () => await service.send('GET', `/o/${addressOf(cold)}`))
  await settle(service)
  const late = await service.send('GET', `/o/${addressOf(cold)}`)
  isProblem(late, 429, 'busy')
  assert.equal(service.metric('busy_rejections_total', { endpoint: '/o/:address' }), 1)
  shut.reads.open()
  shut.writes.open()
  for (const { status } of await service.world.run(Promise.all(reads))) assert.equal(status, 200)
  for (const { status } of await service.world.run(Promise.all(writes))) assert.equal(status, 201)
  await service.stop()
})

test('in the middle of an answer a full queue makes it wait, not end', async () => {
  const { gates: shut, options } = withGates({ pools: { get: 1 }, cache_bytes: 0, drive_timeout: '60s' })
  const service = await TestService.start(options)
  const [large, small] = [noise(3 * 1024 * 1024, 1), noise(1000, 2)]
  await service.ask('POST', '/o?stream', { body: large })
  await service.ask('POST', '/o', { body: small })
  const begun = await service.world.run(service.begin('GET', `/o/${addressOf(large)}`))
  assert.equal(begun.status, 200)
  shut.reads.shut()
  const others = Array.from({ length: 513 }, async () => await service.send('GET', `/o/${addressOf(small)}`))
  await settle(service)
  const rest = readAnswer(begun)
  await service.sleep(1000)
  shut.reads.open()
  assert.ok((await service.world.run(rest)).body.equals(large))
  for (const { status } of await service.world.run(Promise.all(others))) assert.equal(status, 200)
  await service.stop()
})

test('requests in flight and streams have their own bounds', async () => {
  const { gates: shut, options } = withGates({
    drive_timeout: '60s',
    ingress: { max_inflight: 2, max_streams: 1, request_timeout: '50s' },
  })
  const service = await TestService.start(options)
  shut.writes.shut()
  const two = [1, 2].map(async (seed) => await service.send('POST', '/o', { body: noise(10, seed) }))
  await settle(service)
  isProblem(await service.send('POST', '/o', { body: 'x' }), 429, 'busy')
  const stream = service.send('POST', '/o?stream', { body: noise(10, 3) })
  await settle(service)
  isProblem(await service.send('POST', '/o?stream', { body: 'x' }), 429, 'busy')
  assert.equal((await service.send('GET', '/healthz')).status, 200, 'ops routes pass')
  shut.writes.open()
  for (const answer of await service.world.run(Promise.all([...two, stream]))) assert.equal(answer.status, 201)
  await service.stop()
})

test('Timeout: work whose budget is gone is answered 504 and counted, and ends later by itself', async () => {
  const { gates: shut, options } = withGates({ drive_timeout: '60s', cache_bytes: 0 })
  const service = await TestService.start(options)
  const bytes = noise(1000)
  await service.ask('POST', '/o', { body: bytes })
  shut.reads.shut()
  const slow = await service.ask('GET', `/c/${addressOf(bytes)}`, { headers: { 'request-timeout': '100ms' } })
  isProblem(slow, 504, 'timeout')
  assert.equal(service.metric('io_timeouts_total', { op: 'request' }), 1)
  shut.reads.open()
  await service.sleep(100)
  await service.stop()
})

test('Timeout(Read) and Timeout(Write): a drive that hangs is 503, unready, and ready again once it answers', async () => {
  const { gates: shut, options } = withGates({ cache_bytes: 0, drive_timeout: '1s' })
  const service = await TestService.start(options)
  const bytes = noise(1000)
  await service.ask('POST', '/o', { body: bytes })
  shut.reads.shut()
  isProblem(await service.ask('GET', `/o/${addressOf(bytes)}`), 503, 'drive_stalled')
  assert.equal(service.metric('io_timeouts_total', { op: 'read' }), 1)
  await service.sleep(600)
  const unready = await service.ask('GET', '/readyz')
  isProblem(unready, 503, 'not_ready')
  assert.deepEqual(unready.fields()['missing'], ['store_writable'])
  shut.reads.open()
  await service.sleep(600)
  assert.equal((await service.ask('GET', '/readyz')).status, 200)
  shut.writes.shut()
  const refused = await service.ask('POST', '/o', { body: 'x' })
  isProblem(refused, 503, 'write_failed')
  assert.equal(service.metric('io_timeouts_total', { op: 'write' }), 1)
  shut.writes.open()
  await service.sleep(10_000)
  assert.equal((await service.ask('GET', '/readyz')).status, 200)
  assert.equal((await service.ask('POST', '/o', { body: 'x' })).status, 201)
  await service.stop()
})

test('Canceled: a client that leaves while it waits frees its place', async () => {
  const { gates: shut, options } = withGates({ pools: { get: 1 }, cache_bytes: 0, drive_timeout: '60s' })
  const service = await TestService.start(options)
  const bytes = noise(1000)
  await service.ask('POST', '/o', { body: bytes })
  shut.reads.shut()
  const gone = new AbortController()
  const left = service.send('GET', `/o/${addressOf(bytes)}`, { signal: gone.signal })
  await settle(service)
  gone.abort()
  assert.equal((await left).code, 'client_gone')
  shut.reads.open()
  await service.sleep(100)
  assert.ok((await service.ask('GET', `/o/${addressOf(bytes)}`)).body.equals(bytes))
  await service.stop()
})

test('Lagging: a slow subscriber of events loses the oldest, is told how many, and holds nobody up', async () => {
  const service = await TestService.start()
  using slow = service.parts.events.subscribe()
  for (let at = 0; at < 1100; at += 1)
    service.parts.events.publish({ topic: 'storage.repair.planned', body: { repairs: at } })
  const heard = slow.tryReceive()
  assert.deepEqual([heard?.tag, heard?.tag === 'lagged' && heard.missed], ['lagged', 76])
  assert.equal(service.metric('bus_lagged_total', { topic: 'events', consumer: 'listener' }), 76)
  await service.stop()
})

test('Paced: repairs wait for their budget, all workers together, and the wait is observed', async () => {
  const service = await TestService.start({ config: { durability: { repair_pacing: '64KiB' } } })
  const object = clientObject(10 * CHUNK)
  await service.ask('POST', '/o?stream', { body: object.bytes })
  const headers = { 'content-type': 'application/json' }
  using heard = service.parts.events.subscribe()
  await service.ask('POST', '/admin/repair', { body: JSON.stringify({ address: object.id }), headers })
  await service.sleep(5500)
  // The bucket fills with 40 KiB a second: what is saved up and one chunk paid for in part are within the budget too.
  assert.equal(service.metric('repair_bytes_total', { phase: 'executed' }), 3 * CHUNK)
  await service.sleep(11_000)
  assert.equal(service.metric('repair_bytes_total', { phase: 'executed' }), 10 * CHUNK)
  assert.equal(service.metric('repair_wait_seconds_count'), 10)
  assert.ok(service.metric('repair_wait_seconds_sum') > 9)
  const topics = Array.from({ length: 11 }, () => heard.tryReceive()).map(
    (each) => each?.tag === 'value' && each.value.topic,
  )
  assert.deepEqual(topics, ['storage.repair.planned', ...Array<string>(10).fill('storage.repair.executed')])
  await service.stop()
})

test('Overflow: a full repair queue skips what can wait, takes what cannot, and plans the rest next round', async () => {
  const service = await TestService.start({ config: { durability: { repair_pacing: '1MiB', sweep_interval: '100s' } } })
  const object = clientObject(300 * CHUNK)
  await service.ask('POST', '/o?stream', { body: object.bytes })
  const { repairs } = service.parts
  const skipped = (): number => service.metric('repair_skipped_total', { reason: 'full' })
  const headers = { 'content-type': 'application/json' }
  await service.ask('POST', '/admin/repair', { body: JSON.stringify({ address: object.id }), headers })
  await service.sleep(1)
  assert.equal(skipped(), 1, 'the planner stopped where the queue was full')
  const [{ from } = { from: 0 }] = repairs.requests()
  assert.ok(from >= 192 && from < 300)
  let offered = 0
  while (repairs.offer(object.chunks[0]!.id)) offered += 1
  assert.equal(skipped(), 2)
  const { depth } = repairs.queue.facts()
  repairs.damaged(object.chunks[0]!.id)
  assert.deepEqual([skipped(), repairs.queue.facts().depth], [2, depth + 1], 'the urgent one is taken')
  await service.sleep(300_000)
  assert.equal(service.metric('repair_bytes_total', { phase: 'executed' }), (300 + offered + 1) * CHUNK)
  assert.deepEqual(repairs.requests(), [])
  for (let at = 0; at < 64; at += 1) repairs.request(addressOf(Buffer.from(String(at))))
  assert.throws(
    () => repairs.request(object.id),
    (error) => error instanceof CairnError && error.kind === 'Busy',
  )
  await service.stop()
})

test('a slow client holds one window of memory and no worker', async () => {
  const service = await TestService.start({ config: { pools: { get: 1 }, cache_bytes: 0 } })
  const bytes = noise(4 * 1024 * 1024)
  await service.ask('POST', '/o?stream', { body: bytes })
  const idle = await service.world.run(
    Promise.all(Array.from({ length: 30 }, async () => await service.begin('GET', `/o/${addressOf(bytes)}`))),
  )
  assert.ok((await service.ask('GET', `/o/${addressOf(bytes)}`)).body.equals(bytes), 'the one worker is free')
  for (const { body } of idle) if (isStream(body)) await body[Symbol.asyncIterator]().return?.()
  await service.stop()
})
