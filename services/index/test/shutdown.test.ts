/** Stopping: what was accepted is finished or answered, nothing is stranded, nothing is left behind. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressOf } from '@cairn/wire'
import { isProblem } from '../../../verify/virtual/answer.ts'
import { TestNames } from './dependencies.ts'
import { TestService } from './harness.ts'
import { type Behaviour, signedProvider, TestNetwork } from './network.ts'

const WALL = 1_700_000_000_000
const object = (count: number) => addressOf(Buffer.from(`object ${count}`))
const finds = (afterMs: number): Behaviour => ({
  does: 'find',
  afterMs,
  providers: (cid) => [signedProvider(2, cid, WALL)],
})

test('lookups under way and in the queue are finished; new requests are refused; then everything is closed', async () => {
  const network = new TestNetwork([finds(200)])
  const service = await TestService.start({ network, names: new TestNames() })
  const asked = Array.from({ length: 40 }, async (_, at) => await service.send('GET', `/resolve/${object(at)}`))
  await service.world.clock.settle()
  const stopping = service.running.stop()
  await service.world.clock.settle()
  const late = await service.send('GET', `/resolve/${object(99)}`)
  isProblem(late, 503, 'upstream_unready')
  assert.equal(late.headers['connection'], 'close')
  isProblem(await service.send('GET', '/readyz'), 503, 'draining')
  assert.equal((await service.send('GET', '/healthz')).status, 200)
  const answers = await service.world.run(Promise.all(asked))
  assert.ok(answers.every(({ status }) => status === 200))
  assert.deepEqual(await service.world.run(stopping), { aborted: [], abandoned: [] })
  await service.world.run(service.platform.workers.close())
  assert.deepEqual(service.world.leaks(), [])
})

test('at the drain deadline what still waits is answered 503, and its legs are aborted', async () => {
  const network = new TestNetwork([{ does: 'hang' }])
  const config = {
    workers: 2,
    drain_deadline: '1s',
    dht: { deadline: '60s' },
    ingress: { request_timeout: '60s' },
  } as const
  const service = await TestService.start({ network, config })
  const asked = Array.from({ length: 10 }, async (_, at) => await service.send('GET', `/resolve/${object(at)}`))
  await service.world.clock.settle()
  const stopping = service.running.stop()
  for (const answer of await service.world.run(Promise.all(asked))) isProblem(answer, 503, 'upstream_unready')
  await service.world.run(stopping)
  assert.equal(network.running, 0)
  assert.equal(service.metric('tasks_aborted_total', { kind: 'request' }), 10)
  await service.world.run(service.platform.workers.close())
})

test('in amnesia nothing is written, everything works, and what was looked up is forgotten every 30 s', async () => {
  const network = new TestNetwork([finds(10)])
  const service = await TestService.start({ network, amnesia: true, disk: 'memory', config: { cache: { ttl: '60s' } } })
  await service.ask('POST', '/admin/pin', { body: { cid: object(1) } })
  await service.ask('PUT', '/admin/names/site@1.0', { body: { manifest_cid: object(1) } })
  assert.equal((await service.ask('GET', '/resolve/name:site@1.0')).status, 200)
  assert.equal((await service.ask('GET', `/resolve/${object(2)}`)).fields()['source'], 'dht')
  assert.equal((await service.ask('GET', `/resolve/${object(2)}`)).fields()['source'], 'cache')
  await service.sleep(30_000)
  assert.equal((await service.ask('GET', `/resolve/${object(2)}`)).fields()['source'], 'dht')
  assert.ok(service.metric('amnesia_purge_total', { kind: 'cache' }) > 0)
  assert.equal(service.metric('amnesia_mode', { status: 'on' }), 1)
  assert.deepEqual(service.machine.drive.list('.'), [])
  await service.stop()
})

test('a new configuration takes effect with the next question, and drops nobody who waits', async () => {
  const network = new TestNetwork([finds(900), finds(900), finds(900), finds(10), finds(10)])
  const service = await TestService.start({ network })
  const changed = async (): Promise<void> => {
    const before = service.send('GET', `/providers/${object(1)}`)
    await service.world.sleep(1)
    const { current } = service.config
    service.config.swap({ values: { ...current, dht: { ...current.dht, hedge: 30 } }, origins: {} })
    const after = service.send('GET', `/providers/${object(2)}`)
    assert.deepEqual([(await before).status, (await after).status], [200, 200])
  }
  await service.world.run(changed())
  const beta = network.asked
    .filter(({ target }) => target === 'peer-3')
    .map(({ at, cid }) => [cid, Math.round(at % 1000)])
  const [old, fresh] = [object(1), object(2)].map((cid) => network.asked.filter((each) => each.cid === cid))
  assert.equal(beta.length, 2)
  assert.equal(Math.round((old?.[3]?.at ?? 0) - (old?.[0]?.at ?? 0)), 150)
  assert.equal(Math.round((fresh?.[3]?.at ?? 0) - (fresh?.[0]?.at ?? 0)), 30)
  await service.stop()
})
