/** What becomes of a stored response, or one on its way, that goes while the upstream is asked. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { noise } from '../../../verify/virtual/noise.ts'
import type { Told, Upstream } from './fake-upstream.ts'
import { FRESH, LIVE, PASSING, UP_PATH as PATH, withEdge } from './harness.ts'

/** Holds for ten seconds; asked about it, the upstream takes three to say that it still does. */
function slowly(body: (path: string, count: number) => Uint8Array | string): Upstream {
  return ({ url, headers }, count): Told =>
    headers['if-none-match'] === undefined
      ? { headers: { 'cache-control': 'max-age=10', etag: '"v1"' }, body: [body(url.pathname, count)] }
      : { status: 304, headers: { 'cache-control': 'max-age=60', etag: '"v1"' }, afterMs: 3000 }
}

describe('a stored response the upstream is asked about', () => {
  test('that is made invalid meanwhile is whole for whoever asked before, and is not back when it still holds', async () => {
    const told = slowly((_path, count) => `body ${count}`)
    await withEdge(
      (request, count) => (request.method === 'PUT' ? {} : told(request, count)),
      async (edge) => {
        await edge.get(PATH)
        await edge.sleep(11_000)
        const asking = edge.send('GET', PATH)
        await edge.sleep(100)
        await edge.ask('PUT', PATH)
        assert.equal((await edge.world.run(asking)).body.toString(), 'body 1')
        assert.equal(edge.parts.cas.facts().entries, 0)
        assert.equal((await edge.get(PATH)).body.toString(), 'body 4')
      },
      { config: PASSING },
    )
  })

  test('that makes room meanwhile is whole when it still holds, then and later', async () => {
    const bodyOf = (path: string): Buffer => noise(400_000, Number(path.slice(-1)) + 1)
    await withEdge(
      slowly(bodyOf),
      async (edge) => {
        await edge.get('/edge/assets/u/up/1')
        await edge.sleep(11_000)
        const asking = edge.send('GET', '/edge/assets/u/up/1')
        for (const at of [2, 3, 4]) await edge.get(`/edge/assets/u/up/${at}`)
        assert.ok((await edge.world.run(asking)).body.equals(bodyOf('1')))
        await edge.sleep(3000)
        assert.ok((await edge.get('/edge/assets/u/up/1')).body.equals(bodyOf('1')))
      },
      { config: { ...LIVE, cas_max_bytes: '1MiB' } },
    )
  })
})

test('a fill of its own, for a key whose answers were private, is not stored either if it began before a PUT', async () => {
  await withEdge(
    ({ method }, count) => ({
      headers: method === 'PUT' ? {} : count === 1 ? { 'cache-control': 'private' } : FRESH,
      body: [`body ${count}`, 500, '.'],
    }),
    async (edge) => {
      await edge.get(PATH)
      const filling = edge.send('GET', PATH)
      await edge.sleep(100)
      await edge.ask('PUT', PATH)
      assert.equal((await edge.world.run(filling)).body.toString(), 'body 2.')
      assert.equal(edge.parts.cas.facts().entries, 0)
      assert.equal((await edge.get(PATH)).body.toString(), 'body 4.')
    },
    { config: PASSING },
  )
})
