/** Queues, seats and rates at their bounds: who is turned away, how, and who is not. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isProblem } from '../../../verify/virtual/answer.ts'
import { TestService } from './harness.ts'

test('a full work queue refuses at once with 429, and never waits; webhooks have a share that puts cannot use', async () => {
  const service = await TestService.start({
    config: { workers: 1, ingress: { max_rps: 0, max_inflight: 2000, request_timeout: '60s' } },
  })
  service.storage.latencyMs = 5000
  const put = async (n: number) =>
    await service.send('POST', '/put', { body: { payload: Buffer.from(`${n}`).toString('base64') } })
  const puts = Array.from({ length: 300 }, async (_each, n) => await put(n))
  await service.world.run(service.world.sleep(10))
  const now = service.platform.clock.now()
  // One is with the worker, and half of the queue is not for puts.
  isProblem(await service.world.run(put(999)), 429, 'BACKPRESSURE')
  assert.equal(service.platform.clock.now(), now)
  const webhooks = Array.from({ length: 256 }, async (_each, n) => {
    return await service.sendGithub(`{"n":${n}}`, { from: `10.1.0.${n}` })
  })
  await service.world.run(service.world.sleep(10))
  isProblem(await service.github('{"one":"more"}'), 429, 'BACKPRESSURE')
  assert.ok(service.metric('busy_rejections_total', { endpoint: '/webhooks/:provider' }) >= 1)
  assert.ok(service.metric('busy_rejections_total', { endpoint: '/put' }) >= 1)
  service.storage.latencyMs = 0
  const done = await service.world.run(Promise.all([...puts, ...webhooks]))
  assert.equal(done.slice(300).filter(({ status }) => status === 202).length, 256)
  await service.stop()
})

test('one address verifies so many at once and no more; others are not held up', async () => {
  const service = await TestService.start({ config: { verification: { concurrent_per_address: 2 } } })
  const release = Promise.withResolvers<void>()
  async function* slowly(body: string): AsyncGenerator<Uint8Array> {
    await release.promise
    yield Buffer.from(body)
  }
  const headers = { 'content-length': '7', 'x-hub-signature-256': 'sha256=00' }
  const held = [1, 2].map(async () => {
    return await service.send('POST', '/webhooks/github', {
      headers,
      token: null,
      body: slowly('{"n":1}'),
      from: '192.0.2.1',
    })
  })
  await service.world.run(service.world.sleep(1))
  isProblem(await service.github('{"n":1}', { from: '192.0.2.1' }), 429, 'RATE_LIMIT')
  assert.equal((await service.github('{"n":1}', { from: '192.0.2.2' })).status, 202)
  release.resolve()
  await service.world.run(Promise.all(held))
  assert.equal((await service.github('{"n":2}', { from: '192.0.2.1' })).status, 202)
  assert.equal(service.parts.gate.addresses, 0)
  await service.stop()
})

test('a flood of bad signatures from many addresses leaves valid webhooks and reads served, and the queue empty', async () => {
  const service = await TestService.start()
  service.storage.latencyMs = 2
  let served = 0
  for (let wave = 0; wave < 5; wave += 1) {
    const bad = Array.from({ length: 400 }, async (_each, n) => {
      return await service.sendGithub(`{"bad":${n}}`, { secret: 'wrong', from: `10.${wave}.${n >> 8}.${n & 255}` })
    })
    const good = Array.from({ length: 5 }, async (_each, n) => await service.sendGithub(`{"good":${5 * wave + n}}`))
    const reads = Array.from({ length: 5 }, async () => await service.send('GET', `/o/b3:${'0'.repeat(64)}`))
    const answers = await service.world.run(Promise.all([...good, ...reads, ...bad]))
    served += answers.slice(0, 10).filter(({ status }) => status === 202 || status === 404).length
    assert.equal(service.parts.work.ratio, 0)
  }
  assert.equal(served, 50)
  assert.equal(service.metric('webhook_verify_total', { provider: 'github', result: 'fail' }), 2000)
  await service.stop()
})

test('a webhook whose time runs out is answered 504, and its outcome is there when it comes again', async () => {
  const service = await TestService.start()
  service.storage.latencyMs = 2500
  const answer = await service.github('{"n":1}')
  assert.equal(answer.status, 504)
  assert.ok(
    service.metric('io_timeouts_total', { op: 'request' }) + service.metric('io_timeouts_total', { op: 'rpc' }) > 0,
  )
  service.storage.latencyMs = 0
  await service.sleep(5000)
  assert.equal((await service.github('{"n":1}')).status, 202)
  assert.equal((await service.drain()).length, 1)
  await service.stop()
})

test('the events bus skips forward for a slow reader, and counts it', async () => {
  const service = await TestService.start()
  const slow = service.parts.events.subscribe()
  for (let n = 0; n < 1100; n += 1) {
    service.parts.audit.tell({
      at: 0,
      decision: 'deny',
      action: 'put',
      reason: '',
      provider: '',
      event: '',
      delivery: '',
      b3: null,
      secret: '',
      corr_id: '',
    })
  }
  const heard = await service.world.run(slow.recv())
  assert.equal(heard.tag, 'lagged')
  await service.stop()
})

test('drain answers what was accepted, refuses what comes after, and closes in time', async () => {
  const service = await TestService.start()
  service.storage.latencyMs = 500
  const accepted = service.sendGithub('{"n":1}')
  await service.world.run(service.world.sleep(50))
  const stopping = service.running.stop()
  const late = await service.sendGithub('{"n":2}')
  isProblem(late, 503, 'draining')
  assert.equal((await service.world.run(accepted)).status, 202)
  assert.deepEqual(await service.world.run(stopping), { aborted: [], abandoned: [] })
  await service.world.run(service.platform.workers.close())
  assert.deepEqual(service.world.leaks(), [])
})
