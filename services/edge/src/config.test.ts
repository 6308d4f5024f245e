import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TestEdge } from '../test/harness.ts'
import { edgeSection, routeConfigs } from './config.ts'

test('the defaults start: offline, no packs, no upstreams, names below localhost', () => {
  const { mode, packs, routes, ingress, retry, bind_addr: address } = edgeSection.parse({})
  assert.deepEqual([mode, packs, routes, address], ['offline', [], {}, '127.0.0.1:7074'])
  assert.deepEqual([ingress.max_rps, ingress.max_inflight, ingress.hosts], [500, 1024, ['*.localhost']])
  assert.deepEqual(retry.live_fill, { base_ms: 50, max_ms: 800, max_retries: 2, jitter: true })
})

test('an upstream is a URL or a table, and nothing that could smuggle a query or a secret', () => {
  const config = edgeSection.parse({ routes: { a: 'https://up.example/x/', b: { upstream: 'https://up.example/' } } })
  assert.deepEqual(routeConfigs(config).get('a'), {
    upstream: 'https://up.example/x/',
    query: 'keep',
    request_headers: [],
    response_headers: [],
    pass_methods: [],
  })
  for (const bad of [
    'ftp://x/',
    'https://u:p@x/',
    'https://x/?q',
    'x',
    { upstream: 'https://x/', pass_methods: ['GET'] },
  ])
    assert.equal(edgeSection.safeParse({ routes: { a: bad } }).success, false, JSON.stringify(bad))
  assert.equal(edgeSection.safeParse({ packs: [{ name: '../x', path: '/p' }] }).success, false)
  assert.equal(edgeSection.safeParse({ packs: [{ name: 'x', path: '/p', b3: 'b3:0' }] }).success, false)
})

test('loopback upstreams are refused where strangers can reach the service', async () => {
  const config = { dev_allow_loopback_http: true, bind_addr: '0.0.0.0:7074', insecure_public: true }
  await assert.rejects(TestEdge.start({ config }), /dev_allow_loopback_http/)
})
