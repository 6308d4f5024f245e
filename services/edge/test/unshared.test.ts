/** Answers that are for one client alone, and those that only some may share. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { FRESH, LIVE, UP_PATH as PATH, withEdge } from './harness.ts'

describe('what is not shared', () => {
  for (const [name, headers] of [
    ['private', { 'cache-control': 'private, max-age=60' }],
    ['no-store', { 'cache-control': 'no-store' }],
    ['Vary: *', { ...FRESH, vary: '*' }],
  ] as const) {
    test(`${name}: every client gets an answer of its own, and nothing is kept`, async () => {
      await withEdge(
        (_request, count) => ({ headers, body: [`answer ${count}`], afterMs: 20 }),
        async (edge) => {
          const asked = Array.from({ length: 5 }, async () => await edge.send('GET', PATH))
          const answers = await edge.world.run(Promise.all(asked))
          assert.equal(new Set(answers.map(({ body }) => body.toString())).size, 5)
          assert.equal(edge.parts.cas.facts().entries, 0)
          await edge.world.run(Promise.all([edge.send('GET', PATH), edge.send('GET', PATH)]))
          assert.equal(edge.upstream.requests.length, 7)
        },
      )
    })
  }

  test('a client that has it already is told so without the bytes, and nobody else is', async () => {
    const changed = 'Sun, 06 Nov 1994 08:49:37 GMT'
    await withEdge(
      () => ({ headers: { 'cache-control': 'private', etag: '"v1"', 'last-modified': changed }, body: ['the answer'] }),
      async (edge) => {
        for (const [name, value, status] of [
          ['if-none-match', '"v1"', 304],
          ['if-none-match', 'W/"v1"', 304],
          ['if-modified-since', changed, 304],
          ['if-none-match', '"v0"', 200],
          ['if-modified-since', 'Sun, 06 Nov 1994 08:49:36 GMT', 200],
        ] as const) {
          for (const method of ['GET', 'HEAD'] as const) {
            const answer = await edge.ask(method, PATH, { headers: { [name]: value } })
            assert.equal(answer.status, status, `${method}, ${name}: ${value}`)
            assert.equal(answer.headers['etag'], '"v1"')
            assert.equal(answer.headers['cache-control'], 'private')
            assert.equal(answer.headers['content-length'], status === 304 ? undefined : '10')
            assert.equal(answer.body.toString(), status === 200 && method === 'GET' ? 'the answer' : '')
          }
        }
        assert.equal(edge.upstream.requests.length, 10)
      },
    )
  })

  test('a Vary that changes while clients wait: each is answered for what it asked', async () => {
    const config = { ...LIVE, routes: { up: { upstream: 'https://up.example/', request_headers: ['x-kind'] } } }
    await withEdge(
      ({ headers }) => ({ headers: { ...FRESH, vary: 'X-Kind' }, body: [`kind ${headers['x-kind']}`], afterMs: 20 }),
      async (edge) => {
        const asked = ['a', 'b', 'a', 'c', 'b'].map(
          async (kind) => await edge.send('GET', PATH, { headers: { 'x-kind': kind } }),
        )
        const answers = await edge.world.run(Promise.all(asked))
        assert.deepEqual(
          answers.map(({ body }) => body.toString()),
          ['kind a', 'kind b', 'kind a', 'kind c', 'kind b'],
        )
        assert.equal(edge.upstream.requests.length, 3)
        assert.equal((await edge.get(PATH, { 'x-kind': 'b' })).body.toString(), 'kind b')
        assert.equal(edge.upstream.requests.length, 3)
      },
      { config },
    )
  })
})
