import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { isKind } from '@cairn/kernel'
import { addressOf } from '@cairn/wire'
import { noise } from '../../../verify/virtual/noise.ts'
import type { Upstream } from './fake-upstream.ts'
import { FRESH, isProblem, LIVE, PASSING, UP_PATH as PATH, TestEdge, withEdge } from './harness.ts'

describe('a fill', () => {
  test('is one question, whoever asks, and a hit after that', async () => {
    const body = noise(200_000)
    await withEdge(
      () => ({ headers: { ...FRESH, etag: '"v1"', 'content-type': 'image/png' }, body: [body] }),
      async (edge) => {
        const first = await edge.get(PATH)
        assert.equal(first.status, 200)
        assert.ok(first.body.equals(body))
        assert.match(first.headers['cache-status'] ?? '', /fwd=uri-miss; stored/)
        await edge.sleep(100)
        const second = await edge.get(PATH)
        assert.ok(second.body.equals(body))
        assert.match(second.headers['cache-status'] ?? '', /^cairn-edge; hit; ttl=/)
        assert.equal(second.headers['etag'], '"v1"')
        assert.equal(second.headers['x-cairn-address'], addressOf(body))
        assert.equal(second.headers['content-length'], '200000')
        assert.equal(edge.upstream.requests.length, 1)
        assert.equal(edge.upstream.requests[0]?.url.href, 'https://up.example/base/a')
      },
    )
  })

  test('100 clients on a cold key are one question, and each gets the bytes as they come', async () => {
    const body = noise(300_000)
    const parts = [body.subarray(0, 1000), 500, body.subarray(1000)]
    await withEdge(
      () => ({ headers: FRESH, body: parts, afterMs: 50 }),
      async (edge) => {
        const asked = Array.from({ length: 100 }, async () => await edge.send('GET', PATH))
        const answers = await edge.world.run(Promise.all(asked))
        for (const answer of answers) assert.ok(answer.status === 200 && answer.body.equals(body))
        assert.equal(edge.upstream.requests.length, 1)
        assert.equal(edge.metric('edge_fill_followers_total', { route: 'up' }), 99)
        assert.equal(answers.filter(({ headers }) => headers['cache-status']?.includes('collapsed')).length, 99)
      },
    )
  })

  test('100 followers have every byte when it arrives, not when the body ends, and none waits for another', async () => {
    await withEdge(
      () => ({ headers: { ...FRESH, 'transfer-encoding': 'chunked' }, body: ['early', 2000, 'late'] }),
      async (edge) => {
        const { clock } = edge.platform
        const arrivals: [number[], number[]] = [[], []]
        const begun = clock.now()
        const follow = async (): Promise<void> => {
          const { body } = await edge.begin('GET', PATH)
          let piece = 0
          for await (const _bytes of body as AsyncIterable<Uint8Array>) arrivals[piece++]?.push(clock.now() - begun)
        }
        await edge.world.run(Promise.all(Array.from({ length: 100 }, follow)))
        assert.deepEqual([arrivals[0].length, arrivals[1].length], [100, 100])
        // No time passes here but what somebody waits for: 5 ms are allowed, and nobody waits at all.
        for (const times of arrivals) assert.equal(Math.max(...times) - Math.min(...times), 0)
        assert.ok(Math.max(...arrivals[0]) < 10 && Math.min(...arrivals[1]) > 2000)
      },
    )
  })

  test('goes on for the others when the first client leaves', async () => {
    const body = noise(100_000)
    await withEdge(
      () => ({ headers: FRESH, body: [body.subarray(0, 10), 200, body.subarray(10)], afterMs: 100 }),
      async (edge) => {
        const leaving = new AbortController()
        const first = edge.send('GET', PATH, { signal: leaving.signal })
        const second = edge.send('GET', PATH)
        await edge.sleep(50)
        leaving.abort()
        const [gone, answer] = await edge.world.run(Promise.all([first, second]))
        assert.equal(gone.status, 499)
        assert.ok(answer.body.equals(body))
        assert.equal(edge.upstream.requests.length, 1)
      },
    )
  })

  test('ends when the last client leaves, and nothing of it is kept', async () => {
    await withEdge(
      () => ({ headers: FRESH, body: [noise(70_000), 1000, noise(70_000)] }),
      async (edge) => {
        const leaving = new AbortController()
        const begun = await edge.world.run(edge.begin('GET', PATH, { signal: leaving.signal }))
        const reading = (async () => {
          for await (const _piece of begun.body as AsyncIterable<Uint8Array>) leaving.abort()
        })()
        await edge.world.run(Promise.allSettled([reading]))
        await edge.sleep(2000)
        assert.equal(edge.parts.fills.flying, 0)
        assert.equal(edge.parts.cas.facts().entries, 0)
        assert.equal(edge.parts.cas.facts().bytes, 0)
      },
    )
  })

  test('a range or a condition waits for the end, and is answered from it', async () => {
    const body = noise(150_000)
    await withEdge(
      () => ({ headers: { ...FRESH, etag: '"v"' }, body: [body.subarray(0, 100), 300, body.subarray(100)] }),
      async (edge) => {
        const answers = await edge.world.run(
          Promise.all([
            edge.send('GET', PATH),
            edge.send('GET', PATH, { headers: { range: 'bytes=10-19' } }),
            edge.send('GET', PATH, { headers: { 'if-none-match': '"v"' } }),
          ]),
        )
        assert.deepEqual(
          answers.map(({ status }) => status),
          [200, 206, 304],
        )
        assert.ok(answers[1].body.equals(body.subarray(10, 20)))
        assert.equal(edge.upstream.requests.length, 1)
      },
    )
  })
})

describe('an upstream that fails', () => {
  const cases: readonly { name: string; upstream: Upstream; status: number; code: string; tries: number }[] = [
    { name: 'is silent', upstream: () => ({ fails: 'silence' }), status: 504, code: 'timeout', tries: 1 },
    { name: 'resets', upstream: () => ({ fails: 'reset' }), status: 502, code: 'upstream', tries: 3 },
    { name: 'is not there', upstream: () => ({ fails: 'unreachable' }), status: 502, code: 'upstream', tries: 3 },
    {
      name: 'sends an ETag that is none',
      upstream: () => ({ headers: { etag: 'v1' } }),
      status: 502,
      code: 'etag_invalid',
      tries: 1,
    },
    { name: 'answers 304 to nothing', upstream: () => ({ status: 304 }), status: 502, code: 'upstream', tries: 1 },
    {
      name: 'announces more than is taken',
      upstream: () => ({ headers: { ...FRESH, 'content-length': String(10 ** 9) } }),
      status: 502,
      code: 'body_cap',
      tries: 1,
    },
  ]
  for (const { name, upstream, status, code, tries } of cases) {
    test(`${name}: ${status} ${code}, counted, and nothing is kept`, async () => {
      await withEdge(upstream, async (edge) => {
        isProblem(await edge.get(PATH), status, code)
        assert.equal(edge.upstream.requests.length, tries)
        assert.equal(edge.metric('edge_rejects_total', { reason: code }), 1)
        assert.equal(edge.parts.cas.facts().entries, 0)
      })
    })
  }

  test('silence is counted as a timeout of the fill', async () => {
    await withEdge(
      () => ({ fails: 'silence' }),
      async (edge) => {
        isProblem(await edge.get(PATH, { 'request-timeout': '20s' }), 504, 'timeout')
      },
      { config: { ...LIVE, fill_timeout: '100ms' } },
    )
  })

  test('503 in bursts is asked again after 50 and 100 ms and some jitter', async () => {
    await withEdge(
      (_request, count) => (count < 3 ? { status: 503 } : { headers: FRESH, body: ['ok'] }),
      async (edge) => {
        const begun = edge.platform.clock.now()
        const answer = await edge.get(PATH)
        const took = edge.platform.clock.now() - begun
        assert.equal(answer.body.toString(), 'ok')
        assert.ok(took >= 150 && took < 300, `took ${took}`)
        assert.equal(edge.upstream.requests.length, 3)
        assert.equal(edge.metric('backoff_retries_total', { op: 'live_fill', result: 'ok' }), 1)
      },
    )
  })

  test('503 every time is handed on after three tries; those who waited are told, and do not ask again', async () => {
    await withEdge(
      () => ({ status: 503, body: ['busy'], afterMs: 20 }),
      async (edge) => {
        const asked = Array.from({ length: 5 }, async () => await edge.send('GET', PATH))
        const answers = await edge.world.run(Promise.all(asked))
        assert.deepEqual(
          answers.map(({ status }) => status).sort((a, b) => a - b),
          [502, 502, 502, 502, 503],
        )
        assert.equal(edge.upstream.requests.length, 3)
      },
    )
  })

  const broken: readonly { name: string; upstream: Upstream; kind: 'Timeout' | 'Integrity' }[] = [
    { name: 'stalls', upstream: () => ({ headers: FRESH, body: [noise(70_000), 60_000, 'x'] }), kind: 'Timeout' },
    { name: 'resets', upstream: () => ({ headers: FRESH, body: [noise(70_000), 'reset'] }), kind: 'Timeout' },
    {
      name: 'ends too early',
      upstream: () => ({ headers: { ...FRESH, 'content-length': '80000' }, body: [noise(70_000)] }),
      kind: 'Timeout',
    },
    {
      name: 'sends more than is taken',
      upstream: () => ({ headers: { ...FRESH, 'transfer-encoding': 'chunked' }, body: [noise(70_000), noise(70_000)] }),
      kind: 'Integrity',
    },
  ]
  for (const { name, upstream, kind } of broken) {
    test(`in the middle of a body, ${name}: every connection is broken, and nothing is kept`, async () => {
      await withEdge(
        upstream,
        async (edge) => {
          const answers = await edge.world.run(Promise.all([edge.send('GET', PATH), edge.send('GET', PATH)]))
          for (const { status, broken: end } of answers) assert.ok(status === 200 && isKind(end, kind), String(end))
          await edge.sleep(2000)
          assert.deepEqual(edge.parts.cas.facts(), { bytes: 0, entries: 0, isWritable: true })
          assert.equal(edge.parts.fills.flying, 0)
        },
        { config: { ...LIVE, max_fill_bytes: '100KiB' } },
      )
    })
  }

  test('a host that is not allowed is not asked: 403 not_allowed', async () => {
    await withEdge(
      () => ({}),
      async (edge) => {
        isProblem(await edge.get(PATH), 403, 'not_allowed')
        assert.equal(edge.upstream.requests.length, 0)
      },
      { config: { ...LIVE, allow: [] } },
    )
  })

  test('a bomb is not opened past the cap: 502 decompress_cap; a client that takes the coding gets it as it is', async () => {
    const bomb = gzipSync(Buffer.alloc(30 * 1024 * 1024))
    await withEdge(
      () => ({ headers: { ...FRESH, 'content-encoding': 'gzip' }, body: [bomb] }),
      async (edge) => {
        isProblem(await edge.get(PATH), 502, 'decompress_cap')
        const answer = await edge.get(PATH, { 'accept-encoding': 'gzip' })
        assert.ok(answer.body.equals(bomb))
        assert.equal(answer.headers['vary'], 'Accept-Encoding')
      },
    )
  })

  test('of no bytes is nothing to decode: 204 with a coding that the client does not take', async () => {
    for (const caching of [FRESH, { 'cache-control': 'no-store' }])
      await withEdge(
        () => ({ status: 204, headers: { ...caching, 'content-encoding': 'gzip' } }),
        async (edge) => {
          for (const _again of [1, 2])
            assert.equal((await edge.get(PATH, { 'accept-encoding': 'identity' })).status, 204)
        },
      )
  })

  test('a client that does not take the stored coding gets the plain bytes, under a tag of their own', async () => {
    const plain = noise(5000)
    await withEdge(
      () => ({ headers: { ...FRESH, etag: '"coded"', 'content-encoding': 'gzip' }, body: [gzipSync(plain)] }),
      async (edge) => {
        for (let round = 0; round < 2; round += 1) {
          const answer = await edge.get(PATH)
          assert.ok(answer.body.equals(plain))
          assert.equal(answer.headers['content-encoding'], undefined)
          assert.equal(answer.headers['etag'], `"${addressOf(plain)}"`)
        }
      },
    )
  })
})

describe('a stored response', () => {
  const versions: Upstream = ({ headers }, count) =>
    headers['if-none-match'] === undefined
      ? { headers: { 'cache-control': 'max-age=10', etag: '"v1"' }, body: [`body ${count}`] }
      : { status: 304, headers: { 'cache-control': 'max-age=20', etag: '"v1"' } }

  test('is asked about when it is stale, and serves again when it still holds', async () => {
    await withEdge(versions, async (edge) => {
      await edge.get(PATH)
      await edge.sleep(11_000)
      const answer = await edge.get(PATH)
      assert.equal(answer.body.toString(), 'body 1')
      assert.match(answer.headers['cache-status'] ?? '', /fwd=stale; fwd-status=304/)
      await edge.sleep(15_000)
      assert.equal((await edge.get(PATH)).headers['age'], '15')
      assert.equal(edge.upstream.requests.length, 2)
    })
  })

  test('a 304 about another tag is 502 etag_invalid, and changes nothing', async () => {
    await withEdge(
      (_request, count) =>
        count === 1
          ? { headers: { 'cache-control': 'max-age=1', etag: '"v1"' }, body: ['one'] }
          : { status: 304, headers: { etag: '"v2"', 'cache-control': 'max-age=60' } },
      async (edge) => {
        await edge.get(PATH)
        await edge.sleep(2000)
        isProblem(await edge.get(PATH), 502, 'etag_invalid')
        isProblem(await edge.get(PATH), 502, 'etag_invalid')
      },
    )
  })

  test('within stale-while-revalidate it is served at once, and refreshed behind', async () => {
    await withEdge(
      (_request, count) => ({
        headers: { 'cache-control': 'max-age=1, stale-while-revalidate=30' },
        body: [`body ${count}`],
        afterMs: 500,
      }),
      async (edge) => {
        await edge.get(PATH)
        await edge.sleep(2000)
        const begun = edge.platform.clock.now()
        assert.equal((await edge.get(PATH)).body.toString(), 'body 1')
        assert.ok(edge.platform.clock.now() - begun < 10)
        await edge.sleep(600)
        assert.equal((await edge.get(PATH)).body.toString(), 'body 2')
        assert.equal(edge.upstream.requests.length, 2)
      },
    )
  })

  test('stands in for an upstream that fails, unless its origin forbids that', async () => {
    for (const [directive, status] of [
      ['max-age=1, stale-if-error=60', 200],
      ['max-age=1, must-revalidate', 502],
    ] as const) {
      await withEdge(
        (_request, count) =>
          count === 1 ? { headers: { 'cache-control': directive }, body: ['old'] } : { fails: 'reset' },
        async (edge) => {
          await edge.get(PATH)
          await edge.sleep(3000)
          const answer = await edge.get(PATH)
          assert.equal(answer.status, status)
          if (status === 200)
            assert.match(answer.headers['cache-status'] ?? '', /hit; ttl=-\d+; detail=upstream-failed/)
        },
      )
    }
  })

  test('goes when an unsafe method that is passed succeeds; other methods are 405', async () => {
    const config = { ...LIVE, routes: { up: { upstream: 'https://up.example/', pass_methods: ['POST' as const] } } }
    await withEdge(
      ({ method }, count) => ({ headers: method === 'GET' ? FRESH : {}, body: [`body ${count}`] }),
      async (edge) => {
        await edge.get(PATH)
        await edge.sleep(100)
        const posted = await edge.ask('POST', PATH, { body: Buffer.from('x') })
        assert.equal(posted.status, 200)
        assert.deepEqual(edge.upstream.requests[1]?.body, Buffer.from('x'))
        assert.equal((await edge.get(PATH)).body.toString(), 'body 3')
        assert.equal(edge.metric('edge_invalidations_total', { route: 'up' }), 1)
        assert.equal((await edge.ask('DELETE', PATH)).status, 405)
      },
      { config },
    )
  })

  test('is not stored by a fill that began before an unsafe method succeeded', async () => {
    const config = PASSING
    await withEdge(
      ({ method }, count) => ({ headers: method === 'GET' ? FRESH : {}, body: [`body ${count}`, 500, '.'] }),
      async (edge) => {
        const filling = edge.send('GET', PATH)
        await edge.sleep(100)
        await edge.ask('PUT', PATH)
        assert.equal((await edge.world.run(filling)).body.toString(), 'body 1.')
        assert.equal(edge.parts.cas.facts().entries, 0)
        assert.equal((await edge.get(PATH)).body.toString(), 'body 3.')
      },
      { config },
    )
  })

  test('that was made invalid on its way is still read to its end by whoever began', async () => {
    const config = PASSING
    const body = noise(5 * 1024 * 1024)
    await withEdge(
      ({ method }) => (method === 'GET' ? { headers: FRESH, body: [body.subarray(0, 9), 200, body.subarray(9)] } : {}),
      async (edge) => {
        const begun = await edge.world.run(edge.begin('GET', PATH))
        await edge.ask('PUT', PATH)
        await edge.sleep(5000)
        const pieces: Buffer[] = []
        const read = async (): Promise<void> => {
          for await (const piece of begun.body as AsyncIterable<Uint8Array>) pieces.push(Buffer.from(piece))
        }
        await edge.world.run(read())
        assert.ok(Buffer.concat(pieces).equals(body))
        assert.deepEqual(edge.parts.cas.facts(), { bytes: 0, entries: 0, isWritable: true })
      },
      { config },
    )
  })

  test('is here after a restart', async () => {
    const upstream: Upstream = () => ({ headers: FRESH, body: [noise(100_000)] })
    const first = await TestEdge.start({ upstream })
    await first.get(PATH)
    await first.stop()
    first.machine.kill()
    const second = await TestEdge.start({ upstream }, first.world, first.machine)
    assert.ok((await second.get(PATH)).body.equals(noise(100_000)))
    assert.equal(second.upstream.requests.length, 0)
    await second.stop()
  })

  test('that was replaced while the drive refused is not back after a restart', async () => {
    let body = 'old'
    const upstream: Upstream = ({ method }) => (method === 'GET' ? { headers: FRESH, body: [body] } : { status: 204 })
    const config = PASSING
    const first = await TestEdge.start({ upstream, config })
    await first.get(PATH)
    // The same bytes under another name, so that they stay.
    await first.get(`${PATH}2`)
    await first.sleep(2000)
    first.machine.faults.plan({ operation: 'sync', path: /\.seg$/, fault: 'io-error' })
    body = 'new'
    assert.equal((await first.ask('PUT', PATH)).status, 204)
    await first.sleep(3000)
    await first.stop()
    first.machine.kill()
    const second = await TestEdge.start({ upstream, config }, first.world, first.machine)
    assert.equal((await second.get(PATH)).body.toString(), 'new')
    await second.stop()
  })

  test('makes room, least recently used first', async () => {
    await withEdge(
      ({ url }) => ({ headers: FRESH, body: [noise(400_000, Number(url.pathname.slice(-1)) + 1)] }),
      async (edge) => {
        for (const at of [1, 2, 1, 3]) {
          await edge.get(`/edge/assets/u/up/${at}`)
          await edge.sleep(100)
        }
        assert.equal(edge.metric('edge_cas_evictions_total'), 1)
        assert.ok(edge.parts.cas.facts().bytes <= 1024 * 1024)
        await edge.get('/edge/assets/u/up/1')
        assert.equal(edge.upstream.requests.length, 3)
        await edge.sleep(3000)
        await edge.get('/edge/assets/u/up/2')
        assert.equal(edge.upstream.requests.length, 4)
      },
      { config: { ...LIVE, cas_max_bytes: '1MiB' } },
    )
  })
})
