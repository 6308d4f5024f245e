import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Answer } from '../../../verify/virtual/answer.ts'
import { noise } from '../../../verify/virtual/noise.ts'
import { FRESH, isProblem, LIVE, UP_PATH as PATH, withEdge } from './harness.ts'

describe('what an upstream is told', () => {
  test('only what it may hear: no credentials, no cookies, nothing unlisted', async () => {
    await withEdge(
      () => ({ headers: FRESH, body: ['x'] }),
      async (edge) => {
        const headers = {
          accept: 'image/*',
          cookie: 'a=b',
          authorization: 'Bearer x',
          'x-forwarded-for': '1.2.3.4',
          'user-agent': 'me',
          range: 'bytes=0-0',
        }
        await edge.get(`${PATH}?q=1`, headers)
        assert.deepEqual(edge.upstream.requests[0]?.headers, { accept: 'image/*', 'accept-encoding': 'identity' })
        assert.equal(edge.upstream.requests.at(-1)?.url.href, 'https://up.example/base/a?q=1')
      },
    )
  })

  test('queries as the route says', async () => {
    const routes = {
      drop: { upstream: 'https://up.example/', query: 'drop' as const },
      some: { upstream: 'https://up.example/', query: ['b', 'a'] },
    }
    await withEdge(
      () => ({ headers: FRESH, body: ['x'] }),
      async (edge) => {
        await edge.get('/edge/assets/u/drop/x?a=1&b=2')
        await edge.get('/edge/assets/u/some/x?a=1&c=3&b=2')
        const asked = edge.upstream.requests.map(({ url }) => url.search)
        assert.deepEqual(asked, ['', '?b=2&a=1'])
      },
      { config: { ...LIVE, routes } },
    )
  })

  test('clients are told only what passes: nothing that speaks for our origin', async () => {
    const hostile = {
      ...FRESH,
      'content-type': 'text/html',
      'service-worker-allowed': '/',
      'clear-site-data': '"*"',
      'strict-transport-security': 'max-age=1',
      'access-control-allow-origin': '*',
      'alt-svc': 'h3=":443"',
      'content-security-policy': 'default-src *',
      'x-unlisted': '1',
      'x-listed': '1',
    }
    const listed = Object.keys(hostile).filter((name) => name !== 'x-unlisted')
    const routes = { up: { upstream: 'https://up.example/', response_headers: listed } }
    await withEdge(
      () => ({ headers: hostile, body: ['<script>alert(1)</script>'] }),
      async (edge) => {
        for (let round = 0; round < 2; round += 1) {
          const { headers } = await edge.get(PATH)
          assert.equal(headers['x-listed'], '1')
          assert.equal(headers['content-security-policy'], 'sandbox')
          assert.equal(headers['x-content-type-options'], 'nosniff')
          for (const name of [
            'service-worker-allowed',
            'clear-site-data',
            'strict-transport-security',
            'access-control-allow-origin',
            'alt-svc',
            'x-unlisted',
          ])
            assert.equal(headers[name], undefined, name)
        }
      },
      { config: { ...LIVE, routes } },
    )
  })
})

describe('modes', () => {
  test('offline asks nobody: 403 for what is not here, and the stale response where it is', async () => {
    await withEdge(
      () => ({ headers: { 'cache-control': 'max-age=1' }, body: ['x'] }),
      async (edge) => {
        await edge.get(PATH)
        await edge.sleep(5000)
        edge.config.swap({ values: { ...edge.config.current, mode: 'offline' }, origins: {} })
        const answer = await edge.get(PATH)
        assert.equal(answer.body.toString(), 'x')
        assert.match(answer.headers['cache-status'] ?? '', /detail=offline/)
        isProblem(await edge.get('/edge/assets/u/up/other'), 403, 'not_allowed')
        assert.equal(edge.upstream.requests.length, 1)
      },
    )
  })

  test('without a disk, a fill larger than memory is 503 amnesia', async () => {
    await withEdge(
      () => ({ headers: FRESH, body: [noise(3 * 1024 * 1024)] }),
      async (edge) => {
        isProblem(await edge.get(PATH), 503, 'amnesia')
      },
      { amnesiaBytes: 4 * 1024 * 1024, config: { ...LIVE, cas_max_bytes: '64MiB' } },
    )
  })

  test('only-if-cached is 504 where nothing is', async () => {
    await withEdge(
      () => ({}),
      async (edge) => {
        const answer: Answer = await edge.get(PATH, { 'cache-control': 'only-if-cached' })
        assert.equal(`${answer.status} ${answer.code}`, '504 not_cached')
      },
    )
  })
})
