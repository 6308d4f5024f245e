import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { IngressResponse } from '@cairn/transport'
import { createUlid } from '@cairn/wire'
import { route } from '../pipeline/route.ts'
import { bodyOf, fixture, HELLO, ingressConfig } from '../test/fixture.ts'
import { HOST, post, ROUTES, zeros } from '../test/routes.ts'
import { type IngressRequest, json } from './message.ts'

describe('answers carry what their status demands', () => {
  test('405 says what is allowed, 415 what is taken, 401 what to present', async () => {
    const admin = route({ ...HELLO, path: '/admin', scope: 'storage:admin', handler: () => json(200, {}) })
    const { call } = fixture({ routes: [...ROUTES, admin] })
    assert.equal((await call({ method: 'POST' })).headers['allow'], 'GET, HEAD')
    const coded = post('/echo', bodyOf('x'), 'Content-Encoding', 'compress')
    assert.equal((await call(coded)).headers['accept-encoding'], 'gzip, br, zstd')
    assert.match((await call({ target: '/admin' })).headers['www-authenticate'] ?? '', /^Bearer /)
  })

  test('HEAD has the length of the body and not the body', async () => {
    const { call } = fixture()
    const [head, get] = [await call({ method: 'HEAD' }), await call()]
    assert.equal(head.text, '')
    assert.equal(head.headers['content-length'], get.headers['content-length'])
  })

  test('a defect is named to the client and described only to the log', async () => {
    const { call, runtime } = fixture({ routes: ROUTES })
    const answer = await call({ target: '/failing' })
    assert.doesNotMatch(answer.text, /42/)
    const line = runtime.log.lines.find(({ level }) => level === 'error')
    assert.equal(line?.fields['corr_id'], answer.headers['x-corr-id'])
    assert.match(String(line?.fields['error']), /42/)
    assert.equal(runtime.metrics.value('internal_errors_total', { kind: 'request' }), 1)
  })

  test('a correlation id that came is kept if it is a ULID or a UUID, and replaced otherwise', async () => {
    const { call } = fixture()
    const ids = [createUlid(1, new Uint8Array(10)), '0b8d3c1e-5f0a-4c6b-9f57-0a1b2c3d4e5f']
    for (const id of ids) assert.equal((await call({ headers: [...HOST, 'x-corr-id', id] })).headers['x-corr-id'], id)
    const forged = await call({ headers: [...HOST, 'X-Corr-ID', 'a\u0000b'] })
    assert.match(forged.headers['x-corr-id'] ?? '', /^[0-9A-HJKMNP-TV-Z]{26}$/)
  })

  test('a service can rename codes and repeat them in a header', async () => {
    const { call } = fixture({ codes: { not_found: 'no_such_thing' }, reasonHeader: 'X-Reason' })
    const answer = await call({ target: '/nowhere' })
    assert.equal(answer.json()['code'], 'no_such_thing')
    assert.equal(answer.headers['x-reason'], 'no_such_thing')
  })

  test('no cross-origin header without a listed origin; those of a listed one otherwise', async () => {
    const origin = ['Origin', 'https://app.example']
    const closed = await fixture().call({ headers: [...HOST, ...origin] })
    assert.equal(closed.headers['access-control-allow-origin'], undefined)
    const { call } = fixture({ config: { cors: { allow_origins: ['https://app.example'] } } })
    const open = await call({ headers: [...HOST, ...origin] })
    assert.equal(open.headers['access-control-allow-origin'], 'https://app.example')
    assert.equal(open.headers['vary'], 'Origin')
    const other = await call({ headers: [...HOST, 'Origin', 'https://evil.example'] })
    assert.equal(other.headers['access-control-allow-origin'], undefined)
    const asks = ['Access-Control-Request-Method', 'GET']
    const preflight = await call({ method: 'OPTIONS', headers: [...HOST, ...origin, ...asks] })
    assert.deepEqual([preflight.status, preflight.headers['access-control-allow-methods']], [204, 'GET, HEAD'])
  })
})

describe('schemas', () => {
  const put = (target: string, body: string, type = ['Content-Type', 'application/json']): Partial<IngressRequest> => ({
    method: 'PUT',
    target,
    headers: [...HOST, ...type],
    body: bodyOf(body),
  })

  test('what fits is handed over, typed', async () => {
    const { call } = fixture({ routes: ROUTES })
    const answer = await call(put('/notes/one?pin=yes', '{"text":"hello"}'))
    assert.deepEqual([answer.status, answer.json()], [201, { name: 'one', pin: 'yes', text: 'hello' }])
  })

  for (const [name, request] of [
    ['an unknown field', put('/notes/one', '{"text":"a","more":1}')],
    ['a wrong type', put('/notes/one', '{"text":1}')],
    ['no JSON', put('/notes/one', '{"text":')],
    ['no UTF-8', { ...put('/notes/one', ''), body: bodyOf(new Uint8Array([0x22, 0xff, 0x22])) }],
    ['a parameter out of bounds', put('/notes/much-too-long', '{"text":"a"}')],
    ['an unknown query name', put('/notes/one?pin=yes&x=1', '{"text":"a"}')],
    ['a query name twice', put('/notes/one?pin=yes&pin=no', '{"text":"a"}')],
  ] as const) {
    test(`${name} is refused with a sentence that names the place`, async () => {
      const { call } = fixture({ routes: ROUTES })
      const answer = await call(request)
      assert.equal(answer.status, 400)
      assert.match(String(answer.json()['detail']), /^(The (body|query|path) is not|The query names)/)
    })
  }

  test('another media type is 415', async () => {
    const { call } = fixture({ routes: ROUTES })
    const answer = await call(put('/notes/one', '{"text":"a"}', ['Content-Type', 'text/plain']))
    assert.deepEqual([answer.status, answer.json()['code']], [415, 'unsupported_type'])
  })

  test('the rest of a path is decoded once', async () => {
    const { call } = fixture({ routes: ROUTES })
    const answer = await call({ target: '/files/a%20b/c%25d.txt' })
    assert.deepEqual(answer.json(), { path: 'a b/c%d.txt', host: 'localhost' })
  })
})

describe('observation', () => {
  test('requests are counted by template, method and status, never by path', async () => {
    const { call, runtime } = fixture({ routes: ROUTES })
    await call({ target: '/files/secret.txt' })
    await call({ target: '/unknown/path' })
    await call({ method: 'BREW', target: '/unknown/path' })
    const { metrics } = runtime
    assert.equal(metrics.value('http_requests_total', { route: '/files/*', method: 'GET', status: '200' }), 1)
    assert.equal(metrics.value('http_requests_total', { route: '(none)', method: 'GET', status: '404' }), 1)
    assert.equal(metrics.value('http_requests_total', { route: '(none)', method: 'other', status: '404' }), 1)
    assert.equal(metrics.value('request_latency_seconds_count', { route: '/files/*', method: 'GET' }), 1)
    assert.equal(metrics.value('rejected_total', { reason: 'not_found' }), 2)
  })

  test('counts reach the metrics in batches, at once after a pause, and all of them when they are asked for', async () => {
    const { call, ingress, runtime } = fixture()
    const labels = { route: '/hello', method: 'GET' }
    const counted = (): number => runtime.metrics.value('http_requests_total', { ...labels, status: '200' })
    const observed = (): number => runtime.metrics.value('request_latency_seconds_count', labels)
    for (let count = 0; count < 256; count += 1) await call()
    assert.deepEqual([counted(), observed()], [1, 1])
    await call()
    assert.deepEqual([counted(), observed()], [257, 257])
    await call()
    runtime.clock.advance(100)
    await call()
    assert.equal(counted(), 259)
    await call()
    await call({ target: '/metrics' })
    assert.deepEqual([counted(), observed()], [260, 260])
    await call()
    ingress.updateMetrics()
    assert.equal(counted(), 261)
  })

  test('a latency is counted in seconds', async () => {
    const handler = (): IngressResponse => {
      runtime.clock.advance(250)
      return json(200, {})
    }
    const { call, ingress, runtime } = fixture({ routes: [route({ ...HELLO, path: '/slow', handler })] })
    await call({ target: '/slow' })
    ingress.updateMetrics()
    assert.equal(runtime.metrics.value('request_latency_seconds_sum', { route: '/slow', method: 'GET' }), 0.25)
  })

  test('one request in four is logged at a ratio of a quarter; failures of ours always are', async () => {
    const { call, runtime } = fixture({ routes: ROUTES, config: { access_log_ratio: 0.25 } })
    for (let count = 0; count < 8; count += 1) await call()
    const lines = (): number => runtime.log.lines.filter(({ message }) => message === 'request').length
    assert.equal(lines(), 2)
    await call({ target: '/failing' })
    assert.equal(lines(), 3)
  })

  test('new limits hold for the next request', async () => {
    const { call, ingress } = fixture({ routes: ROUTES })
    assert.equal((await call({ headers: ['Host', 'new.example'] })).status, 421)
    ingress.reconfigure(ingressConfig({ hosts: ['new.example'], max_body_bytes: 1024 }))
    assert.equal((await call({ headers: ['Host', 'new.example'] })).status, 200)
    assert.equal((await call(post('/echo', bodyOf(zeros(1025))))).status, 413)
  })
})

describe('readiness', () => {
  test('an unmet condition is named, with when to look again', async () => {
    const { call, health } = fixture({ conditions: ['disk', 'peers'] })
    health.meet('disk')
    const answer = await call({ target: '/readyz' })
    assert.equal(answer.status, 503)
    assert.deepEqual(answer.json()['missing'], ['peers'])
    assert.equal(answer.headers['retry-after'], '1')
    health.meet('peers')
    assert.equal((await call({ target: '/readyz' })).status, 200)
  })

  test('a task that failed too often makes the service unhealthy, by name', async () => {
    const { call, health } = fixture()
    health.fail('repair-planner', 'no disk')
    const answer = await call({ target: '/healthz' })
    assert.deepEqual([answer.status, answer.json()['task']], [503, 'repair-planner'])
  })
})
