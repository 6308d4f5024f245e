import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type CairnError } from '@cairn/kernel'
import { leaks, VirtualClock } from '@cairn/kernel/testing'
import { type IngressRequest, json } from '../response/message.ts'
import { bodyOf, fixture, HELLO, requestOf } from '../test/fixture.ts'
import { HOST } from '../test/routes.ts'
import { AddressRates } from './admission.ts'
import { route } from './route.ts'

describe('admission', () => {
  test('past the rate: 429, until the bucket has filled again', async () => {
    const { call, runtime } = fixture({ config: { max_rps: 10, burst: 2 } })
    const statuses = [await call(), await call(), await call()].map(({ status }) => status)
    assert.deepEqual(statuses, [200, 200, 429])
    assert.equal(runtime.metrics.value('busy_rejections_total', { endpoint: '/hello' }), 1)
    runtime.clock.advance(100)
    assert.equal((await call()).status, 200)
  })

  test('one address past its rate takes nothing from another, however it writes itself', async () => {
    const { call, runtime } = fixture({ config: { max_rps_per_address: 10, burst_per_address: 2 } })
    const from = (address: string) => ({ peer: { address, kind: 'tcp' } as const })
    for (const [address, status] of [
      ['192.0.2.1', 200],
      ['::ffff:192.0.2.1', 200],
      ['192.0.2.1', 429],
      ['192.0.2.2', 200],
      ['2001:db8::1', 200],
      ['2001:db8::2', 200],
      ['2001:db8::3', 429],
    ] as const)
      assert.equal((await call(from(address))).status, status, address)
    assert.equal(runtime.metrics.value('quota_exhaustions_total', { kind: 'ip' }), 2)
    runtime.clock.advance(100)
    assert.equal((await call(from('192.0.2.1'))).status, 200)
  })

  test('behind a trusted proxy the address it names is the one that counts', async () => {
    const config = { max_rps_per_address: 1, burst_per_address: 1, trusted_proxies: ['10.0.0.0/8'] }
    const { call } = fixture({ config })
    const from = (client: string) => ({
      peer: { address: '10.0.0.1', kind: 'tcp' } as const,
      headers: [...HOST, 'X-Forwarded-For', client],
    })
    assert.equal((await call(from('192.0.2.1'))).status, 200)
    assert.equal((await call(from('192.0.2.1'))).status, 429)
    assert.equal((await call(from('192.0.2.2'))).status, 200)
  })

  test('10 000 addresses that asked are forgotten once their buckets are full again', () => {
    const clock = new VirtualClock()
    const rates = new AddressRates(clock, 100, 200)
    for (let count = 0; count < 10_000; count += 1) rates.take(`10.0.${count >> 8}.${count & 255}`)
    assert.equal(rates.size, 10_000)
    clock.advance(2000)
    rates.take('192.0.2.1')
    assert.equal(rates.size, 1)
  })

  test('the rate counts requests for nothing too, and never health', async () => {
    const { call } = fixture({ config: { max_rps: 1, burst: 1 } })
    assert.equal((await call({ target: '/nowhere' })).status, 404)
    assert.equal((await call({ target: '/nowhere' })).status, 429)
    assert.equal((await call({ target: '/healthz' })).status, 200)
  })

  test('one client cannot starve the probes of another, nor any client those of this machine', async () => {
    const { call } = fixture({ conditions: ['disk'] })
    const from = (address: string): Partial<IngressRequest> => ({ peer: { address, kind: 'tcp' } })
    const flood = await Promise.all(
      Array.from({ length: 250 }, async () => (await call({ target: '/version', ...from('192.0.2.1') })).status),
    )
    assert.deepEqual([flood.filter((status) => status === 200).length, flood.at(-1)], [200, 429])
    assert.equal((await call({ target: '/version', ...from('192.0.2.2') })).status, 200)
    // Not ready is an answer too.
    assert.equal((await call({ target: '/readyz', ...from('192.0.2.1') })).status, 429)
    assert.equal((await call({ target: '/readyz', ...from('192.0.2.2') })).status, 503)
  })

  test('health is never limited; nothing is for loopback, a Unix socket and metrics_addr', async () => {
    const { call } = fixture()
    const ways: Partial<IngressRequest>[] = [
      { target: '/healthz', peer: { address: '192.0.2.1', kind: 'tcp' } },
      { target: '/version', peer: { address: '127.0.0.1', kind: 'tcp' } },
      { target: '/version', peer: { address: '', kind: 'unix' } },
      { target: '/version', peer: { address: '192.0.2.1', kind: 'tcp' }, listenerKind: 'metrics' },
    ]
    for (const way of ways) {
      const statuses = await Promise.all(Array.from({ length: 1000 }, async () => (await call(way)).status))
      assert.ok(
        statuses.every((status) => status === 200),
        JSON.stringify(way),
      )
    }
  })

  test('behind a trusted proxy each client has a bucket of its own', async () => {
    const { call } = fixture({ config: { trusted_proxies: ['127.0.0.0/8'] } })
    const ask = async (client: string): Promise<number> =>
      (await call({ target: '/version', headers: ['Host', 'localhost', 'X-Forwarded-For', client] })).status
    const flood = await Promise.all(Array.from({ length: 201 }, async () => await ask('192.0.2.1')))
    assert.equal(flood.at(-1), 429)
    assert.equal(await ask('192.0.2.2'), 200)
  })

  test('past the number in flight: 429; a place is free again when the work is over', async () => {
    const gate = Promise.withResolvers<void>()
    const slow = route({
      ...HELLO,
      path: '/slow',
      handler: async () => {
        await gate.promise
        return json(200, {})
      },
    })
    const { call, runtime, ingress } = fixture({ routes: [slow, HELLO], config: { max_inflight: 2 } })
    const held = [call({ target: '/slow' }), call({ target: '/slow' })]
    assert.equal((await call()).status, 429)
    assert.equal(ingress.openRequests, 2)
    gate.resolve()
    assert.deepEqual(
      (await Promise.all(held)).map(({ status }) => status),
      [200, 200],
    )
    assert.equal((await call()).status, 200)
    assert.deepEqual(leaks(runtime), [])
  })

  test('a streamed answer leaves the number in flight and counts as a stream until it is read', async () => {
    const chunks = route({
      ...HELLO,
      path: '/chunks',
      handler: () => ({ status: 200, headers: [], body: bodyOf('one ', 'two') }),
    })
    const { call, ingress } = fixture({ routes: [chunks, HELLO], config: { max_inflight: 1, max_streams: 1 } })
    const open = await ingress.handle(requestOf({ target: '/chunks' }))
    assert.equal(open.status, 200)
    assert.equal((await call()).status, 200)
    assert.equal((await call({ target: '/chunks' })).status, 429)
    await (open.body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]().return?.()
    assert.equal((await call({ target: '/chunks' })).text, 'one two')
    assert.equal(ingress.openRequests, 0)
  })

  test('a streamed answer of another length than promised fails instead of ending', async () => {
    const short = route({
      ...HELLO,
      path: '/short',
      handler: () => ({ status: 200, headers: ['Content-Length', '9'], body: bodyOf('one') }),
    })
    const { call, ingress } = fixture({ routes: [short] })
    await assert.rejects(call({ target: '/short' }), { code: 'internal' })
    assert.equal(ingress.openRequests, 0)
  })
})

describe('deadlines', () => {
  const never = route({
    ...HELLO,
    path: '/never',
    handler: async ({ signal }) =>
      await new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as CairnError), { once: true })
      }),
  })
  const deaf = route({ ...HELLO, path: '/deaf', handler: async () => await new Promise(() => {}) })

  for (const [name, target, headers, afterMs] of [
    ['the server’s budget', '/never', HOST, 5000],
    ['the client’s smaller one', '/never', [...HOST, 'Request-Timeout', '2s'], 2000],
    ['the server’s, when the client asks for more', '/never', [...HOST, 'Request-Timeout', '60'], 5000],
    ['the client’s deadline', '/never', [...HOST, 'Deadline', '1700000001500'], 1500],
    ['even for a handler that does not listen', '/deaf', HOST, 5000],
  ] as const) {
    test(`${name} is answered 504 when it is gone`, async () => {
      const { call, runtime } = fixture({ routes: [never, deaf] })
      const answer = call({ target, headers })
      await runtime.clock.run(afterMs - 1)
      assert.equal(runtime.metrics.value('io_timeouts_total', { op: 'request' }), 0)
      await runtime.clock.run(1)
      assert.equal((await answer).status, 504)
      assert.equal(runtime.metrics.value('io_timeouts_total', { op: 'request' }), 1)
      assert.equal(runtime.clock.pending(), 0)
    })
  }

  test('a client that leaves fires the signal', async () => {
    const { ingress, runtime } = fixture({ routes: [never] })
    const client = new AbortController()
    const answer = ingress.handle(requestOf({ target: '/never', signal: client.signal }))
    client.abort()
    assert.equal((await answer).status, 499)
    await runtime.clock.settle()
    assert.equal(ingress.openRequests, 0)
  })

  test('a place answered 504 is free only when its handler has ended', async () => {
    const gate = Promise.withResolvers<void>()
    const slow = route({
      ...HELLO,
      path: '/slow',
      handler: async () => {
        await gate.promise
        return json(200, {})
      },
    })
    const { call, runtime, ingress } = fixture({ routes: [slow] })
    const answer = call({ target: '/slow' })
    await runtime.clock.run(5000)
    assert.equal((await answer).status, 504)
    assert.equal(ingress.openRequests, 1)
    gate.resolve()
    await runtime.clock.settle()
    assert.equal(ingress.openRequests, 0)
  })
})

describe('draining', () => {
  test('new requests 503 and close, ops answer, readiness is gone, what is in flight ends', async () => {
    const gate = Promise.withResolvers<void>()
    const slow = route({
      ...HELLO,
      path: '/slow',
      handler: async () => {
        await gate.promise
        return json(200, {})
      },
    })
    const { call, shutdown, ingress } = fixture({ routes: [slow, HELLO] })
    shutdown.taskStarted('listener')
    const task = ingress.run({ aborting: shutdown.aborting })
    const held = call({ target: '/slow' })
    shutdown.drain()
    const refused = await call()
    assert.deepEqual([refused.status, refused.json()['code']], [503, 'draining'])
    assert.equal(refused.headers['connection'], 'close')
    assert.equal((await call({ target: '/readyz' })).status, 503)
    assert.equal((await call({ target: '/healthz' })).status, 200)
    gate.resolve()
    assert.equal((await held).status, 200)
    await task
  })

  test('at the deadline what is still open is answered 503 and counted', async () => {
    const deaf = route({ ...HELLO, path: '/deaf', handler: async () => await new Promise(() => {}) })
    const { call, shutdown, ingress, runtime } = fixture({ routes: [deaf] })
    shutdown.taskStarted('listener')
    const task = ingress.run({ aborting: shutdown.aborting })
    const held = [call({ target: '/deaf' }), call({ target: '/deaf' })]
    shutdown.drain()
    shutdown.abort()
    await task
    assert.deepEqual(
      (await Promise.all(held)).map(({ status }) => status),
      [503, 503],
    )
    assert.equal(runtime.metrics.value('tasks_aborted_total', { kind: 'request' }), 2)
    assert.equal(runtime.clock.pending(), 0)
  })
})
