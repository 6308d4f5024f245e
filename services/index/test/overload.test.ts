/** More than there is room for: refused at once and cleanly; what is admitted is answered. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Address, addressOf } from '@cairn/wire'
import { type Answer, isProblem } from '../../../verify/virtual/answer.ts'
import { TestService } from './harness.ts'
import { type Behaviour, signedProvider, TestNetwork } from './network.ts'

const WALL = 1_700_000_000_000

const slowly = (afterMs: number): Behaviour => ({
  does: 'find',
  afterMs,
  providers: (cid) => [signedProvider(2, cid, WALL)],
})

const object = (count: number): Address => addressOf(Buffer.from(`object ${count}`))

async function flood(service: TestService, count: number, path = '/resolve'): Promise<readonly Answer[]> {
  const asked = Array.from({ length: count }, async (_, at) => await service.send('GET', `${path}/${object(at)}`))
  return await service.world.run(Promise.all(asked))
}

function count(answers: readonly Answer[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { status, code } of answers) {
    const key = code === undefined ? String(status) : `${status} ${code}`
    counts[key] = (counts[key] ?? 0) + 1
  }
  return counts
}

describe('a flood', () => {
  test('600 at once: the rest is 429 with Retry-After, and every admitted request is answered with what it asked for', async () => {
    const service = await TestService.start({ network: new TestNetwork([slowly(40)]) })
    const answers = await flood(service, 600)
    const counts = count(answers)
    assert.deepEqual(Object.keys(counts).sort(), ['200', '429 over_capacity'])
    assert.equal(counts['200'], 384)
    for (const answer of answers.filter(({ status }) => status === 429)) isProblem(answer, 429, 'over_capacity')
    for (const [at, answer] of answers.entries()) {
      if (answer.status === 200) assert.equal(answer.fields()['key'], object(at))
    }
    assert.ok(service.metric('admission_rejections_total', { reason: 'route' }) > 0)
    await service.stop()
  })

  test('with room for all of them in flight, the queue of 512 is the bound', async () => {
    const config = {
      workers: 2,
      limits: { max_per_route: 2000 },
      ingress: { max_inflight: 2000, request_timeout: '60s' },
      dht: { deadline: '60s' },
    }
    const service = await TestService.start({ config, network: new TestNetwork([slowly(10)]) })
    const counts = count(await flood(service, 600))
    assert.deepEqual(counts, { '200': 514, '429 over_capacity': 86 })
    assert.equal(service.metric('admission_rejections_total', { reason: 'queue' }), 86)
    await service.stop()
  })

  test('slow lookups are learned from: a request that would wait longer than its budget is refused at once', async () => {
    // The one peer there is stays open to us, though it is too slow for most.
    const config = { breaker: { trip_threshold: 1 } }
    const service = await TestService.start({ config, network: new TestNetwork([slowly(500)]) })
    // The first ones cannot know yet; after them the pace is known.
    await flood(service, 100)
    const before = service.metric('admission_rejections_total', { reason: 'wait' })
    const startedAt = service.platform.clock.now()
    const asked = Array.from({ length: 300 }, async (_, at) => {
      const answer = await service.send('GET', `/resolve/${object(1000 + at)}`)
      return { answer, tookMs: service.platform.clock.now() - startedAt }
    })
    const answers = await service.world.run(Promise.all(asked))
    const refused = answers.filter(({ answer }) => answer.status === 429)
    assert.ok(refused.length > 200, JSON.stringify(count(answers.map(({ answer }) => answer))))
    assert.ok(refused.every(({ tookMs }) => tookMs < 1))
    assert.ok(service.metric('admission_rejections_total', { reason: 'wait' }) > before)
    const rest = answers.filter(({ answer }) => answer.status !== 429)
    const found = rest.filter(({ answer }) => answer.status === 200).length
    assert.ok(found >= 32 && rest.length - found <= 8, `${found} of ${rest.length} admitted were answered in time`)
    await service.stop()
  })

  test('one route cannot take every place: while resolves are refused, providers are found', async () => {
    const config = { limits: { max_per_route: 4 } }
    const service = await TestService.start({ config, network: new TestNetwork([slowly(40)]) })
    const both = async (): Promise<[readonly Answer[], Answer]> => {
      const resolves = Promise.all(
        Array.from({ length: 20 }, async (_, at) => await service.send('GET', `/resolve/${object(at)}`)),
      )
      const provider = service.send('GET', `/providers/${object(99)}`)
      return [await resolves, await provider]
    }
    const [resolves, provider] = await service.world.run(both())
    assert.deepEqual(count(resolves), { '200': 4, '429 over_capacity': 16 })
    assert.equal(provider.status, 200)
    await service.stop()
  })

  test('what is cached is answered whatever waits, and so are health and metrics', async () => {
    const network = new TestNetwork((cid) => [slowly(cid === object(0) ? 1 : 1000)])
    const service = await TestService.start({ network })
    await service.ask('GET', `/resolve/${object(0)}`)
    const busy = flood(service, 384, '/providers')
    const asking = async (): Promise<readonly number[]> => {
      await service.world.sleep(10)
      const startedAt = service.platform.clock.now()
      const answers = [
        await service.send('GET', `/resolve/${object(0)}`),
        await service.send('GET', '/healthz'),
        await service.send('GET', '/metrics'),
        await service.send('GET', '/version'),
      ]
      assert.equal(service.platform.clock.now(), startedAt)
      return answers.map(({ status }) => status)
    }
    assert.deepEqual(await service.world.run(asking()), [200, 200, 200, 200])
    await busy
    await service.stop()
  })
})

describe('quotas', () => {
  test('so many resolves a minute and no more, cached or not', async () => {
    const config = { limits: { resolves_per_minute: 10, providers_per_minute: 1 } }
    const service = await TestService.start({ config, network: new TestNetwork([slowly(1)]) })
    const statuses: number[] = []
    for (let time = 0; time < 11; time += 1) statuses.push((await service.ask('GET', `/resolve/${object(0)}`)).status)
    assert.deepEqual(statuses, [...new Array<number>(10).fill(200), 429])
    await service.sleep(6_000)
    assert.equal((await service.ask('GET', `/resolve/${object(0)}`)).status, 200)
    assert.equal((await service.ask('GET', `/providers/${object(0)}`)).status, 200)
    isProblem(await service.ask('GET', `/providers/${object(0)}`), 429, 'over_capacity')
    assert.ok(service.metric('admission_rejections_total', { reason: 'quota' }) >= 2)
    await service.stop()
  })

  test('one address past its rate takes nothing from another', async () => {
    const config = { ingress: { max_rps_per_address: 1, burst_per_address: 3 } }
    const service = await TestService.start({ config, network: new TestNetwork([slowly(1)]) })
    for (let time = 0; time < 10; time += 1) await service.ask('GET', `/resolve/${object(0)}`, { from: '192.0.2.1' })
    isProblem(await service.ask('GET', `/resolve/${object(0)}`, { from: '192.0.2.1' }), 429, 'over_capacity')
    assert.equal((await service.ask('GET', `/resolve/${object(0)}`, { from: '192.0.2.2' })).status, 200)
    await service.stop()
  })
})

describe('the cache’s writer', () => {
  test('is behind: writes are lost and counted, answers are not', async () => {
    const service = await TestService.start({
      network: new TestNetwork([slowly(1)]),
      // A janitor that never comes.
      alter: (parts) => Object.assign(parts.cache, { janitor: () => async () => await Promise.resolve() }),
      config: { limits: { max_per_route: 3000 }, ingress: { max_inflight: 3000 }, dht: { deadline: '60s' } },
    })
    for (let round = 0; round < 3; round += 1) {
      const asked = Array.from(
        { length: 500 },
        async (_, at) => await service.send('GET', `/resolve/${object(500 * round + at)}`),
      )
      const answers = await service.world.run(Promise.all(asked))
      assert.deepEqual(count(answers), { '200': 500 })
    }
    assert.equal(service.metric('index_cache_writes_lost_total'), 1500 - 1024)
    assert.equal(service.parts.cache.size, 0)
    await service.stop()
  })
})
