/** Which requests share the answer of a fill under way: those that a stored copy of it would answer as well. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { isStream } from '@cairn/transport'
import type { Answer } from '../../../verify/virtual/answer.ts'
import { noise } from '../../../verify/virtual/noise.ts'
import type { Upstream } from './fake-upstream.ts'
import { FRESH, isProblem, LIVE, PASSING, UP_PATH as PATH, type TestEdge, withEdge } from './harness.ts'

/** Each answer says which it is; its body takes a second to come. */
function counted(cacheControl: string): Upstream {
  return (_request, count) => ({
    headers: { 'cache-control': cacheControl, 'transfer-encoding': 'chunked' },
    body: [`${count}:`, 1000, 'end'],
    afterMs: 100,
  })
}

interface Sent {
  readonly afterMs: number
  readonly headers?: Readonly<Record<string, string>>
}

/** Sends requests at their times and returns the answers in that order. */
async function sendAt(edge: TestEdge, sent: readonly Sent[]): Promise<readonly Answer[]> {
  const ask = async ({ afterMs, headers = {} }: Sent): Promise<Answer> => {
    await edge.world.sleep(afterMs)
    return await edge.send('GET', PATH, { headers })
  }
  return await edge.world.run(Promise.all(sent.map(ask)))
}

const bodies = (answers: readonly Answer[]): readonly string[] => answers.map(({ body }) => body.toString())

describe('a response that may not be reused without asking', () => {
  for (const cacheControl of ['no-cache', 'max-age=0, must-revalidate', 's-maxage=0']) {
    test(`${cacheControl}: a request after the first answer was read asks the upstream again`, async () => {
      const upstream: Upstream = (_request, count) => ({
        headers: { 'cache-control': cacheControl, etag: `"${count}"` },
        body: [`body ${count}`],
      })
      await withEdge(upstream, async (edge) => {
        for (let round = 1; round <= 20; round += 1)
          assert.equal((await edge.get(PATH)).body.toString(), `body ${round}`)
      })
    })
  }

  test('that is all here is asked about with its validators, once the disk has it', async () => {
    const upstream: Upstream = ({ headers }, count) =>
      headers['if-none-match'] === undefined
        ? { headers: { 'cache-control': 'no-cache', etag: '"v"' }, body: [`body ${count}`] }
        : { status: 304, headers: { 'cache-control': 'no-cache', etag: '"v"' } }
    await withEdge(upstream, async (edge) => {
      for (let round = 1; round <= 5; round += 1) assert.equal((await edge.get(PATH)).body.toString(), 'body 1')
      assert.equal(edge.upstream.requests.length, 5)
    })
  })

  test('that is all here is not waited for longer than a moment', async () => {
    const upstream: Upstream = (_request, count) => ({
      headers: { 'cache-control': 'no-cache', etag: `"${count}"` },
      body: [`body ${count}`],
    })
    await withEdge(upstream, async (edge) => {
      edge.machine.faults.slowness = 1000
      assert.equal((await edge.get(PATH)).body.toString(), 'body 1')
      const begun = edge.platform.clock.now()
      assert.equal((await edge.get(PATH)).body.toString(), 'body 2')
      assert.ok(edge.platform.clock.now() - begun < 300)
      edge.machine.faults.slowness = 1
      await edge.sleep(10_000)
    })
  })

  test('requests before its head share it, those after it share the next', async () => {
    await withEdge(counted('no-cache'), async (edge) => {
      const answers = await sendAt(edge, [{ afterMs: 0 }, { afterMs: 50 }, { afterMs: 200 }, { afterMs: 250 }])
      assert.deepEqual(bodies(answers), ['1:end', '1:end', '2:end', '2:end'])
      assert.equal(edge.upstream.requests.length, 2)
    })
  })

  test('the later answer is the one that stays, though the earlier one ends after it', async () => {
    const upstream: Upstream = (_request, count) => ({
      headers: { 'cache-control': 'no-cache', etag: `"${count}"`, 'transfer-encoding': 'chunked' },
      body: [`body ${count}`, count === 1 ? 5000 : 1],
      afterMs: 100,
    })
    await withEdge(upstream, async (edge) => {
      await sendAt(edge, [{ afterMs: 0 }, { afterMs: 200 }])
      await edge.sleep(1000)
      await edge.get(PATH)
      assert.equal(edge.upstream.requests.at(-1)?.headers['if-none-match'], '"2"')
    })
  })

  test('what was made invalid is not stored by a fill that another has taken the place of', async () => {
    const upstream: Upstream = ({ method }, count) =>
      method === 'PUT'
        ? { status: 204 }
        : { headers: { 'cache-control': 'no-cache' }, body: [`body ${count}`, 2000, '.'], afterMs: 100 }
    await withEdge(
      upstream,
      async (edge) => {
        const answers = sendAt(edge, [{ afterMs: 0 }, { afterMs: 200 }])
        await edge.sleep(500)
        assert.equal((await edge.ask('PUT', PATH)).status, 204)
        await answers
        await edge.sleep(1000)
        assert.equal(edge.parts.cas.facts().entries, 0)
      },
      { config: PASSING },
    )
  })
})

describe('a fresh response on its way', () => {
  test('is shared by requests after its head', async () => {
    await withEdge(counted('max-age=60'), async (edge) => {
      assert.deepEqual(bodies(await sendAt(edge, [{ afterMs: 0 }, { afterMs: 500 }])), ['1:end', '1:end'])
      assert.equal(edge.upstream.requests.length, 1)
    })
  })

  for (const directive of ['no-cache', 'max-age=0', 'min-fresh=100'])
    test(`is not shared with a later request that says ${directive}`, async () => {
      await withEdge(counted('max-age=60'), async (edge) => {
        const later = { afterMs: 500, headers: { 'cache-control': directive } }
        assert.deepEqual(bodies(await sendAt(edge, [{ afterMs: 0 }, later])), ['1:end', '2:end'])
      })
    })

  test('that has grown stale before it was whole is asked for again', async () => {
    await withEdge(counted('max-age=60'), async (edge) => {
      edge.upstream.answer = (_request, count) => ({
        headers: { 'cache-control': 'max-age=1', 'transfer-encoding': 'chunked' },
        body: [`${count}:`, 4000, 'end'],
      })
      assert.deepEqual(bodies(await sendAt(edge, [{ afterMs: 0 }, { afterMs: 2500 }])), ['1:end', '2:end'])
    })
  })
})

describe('the key of a response', () => {
  const CODINGS = ['gzip, deflate', 'gzip, deflate, br', 'identity', 'zstd']

  test('has no coding where the response does not vary by it: one question for all clients, and ranges are hits', async () => {
    const body = noise(5000)
    await withEdge(
      () => ({ headers: FRESH, body: [body] }),
      async (edge) => {
        for (const coding of CODINGS) {
          assert.ok((await edge.get(PATH, { 'accept-encoding': coding })).body.equals(body))
          await edge.sleep(50)
        }
        const part = await edge.get(PATH, { 'accept-encoding': 'identity', range: 'bytes=10-19' })
        assert.equal(part.status, 206)
        assert.ok(part.body.equals(body.subarray(10, 20)))
        assert.equal(edge.upstream.requests.length, 1)
        assert.equal(edge.parts.cas.facts().entries, 1)
      },
    )
  })

  test('has it where the response varies by it', async () => {
    await withEdge(
      ({ headers }) => ({ headers: { ...FRESH, vary: 'Accept-Encoding' }, body: [headers['accept-encoding'] ?? ''] }),
      async (edge) => {
        for (let round = 0; round < 2; round += 1) {
          for (const [coding, body] of [
            ['gzip, deflate', 'gzip'],
            ['br', 'br'],
            ['identity', 'identity'],
          ] as const)
            assert.equal((await edge.get(PATH, { 'accept-encoding': coding })).body.toString(), body)
          await edge.sleep(50)
        }
        assert.equal(edge.upstream.requests.length, 3)
      },
    )
  })

  test('is invalid in every coding at once', async () => {
    const upstream: Upstream = ({ method, headers }) =>
      method === 'PUT'
        ? { status: 204 }
        : { headers: { ...FRESH, vary: 'accept-encoding' }, body: [headers['accept-encoding'] ?? ''] }
    await withEdge(
      upstream,
      async (edge) => {
        for (const coding of CODINGS) await edge.get(PATH, { 'accept-encoding': coding })
        await edge.sleep(50)
        await edge.ask('PUT', PATH)
        assert.equal(edge.parts.cas.facts().entries, 0)
      },
      { config: PASSING },
    )
  })
})

describe('conditions on an answer that is not kept', () => {
  const PRIVATE = { 'cache-control': 'private', etag: '"v"', 'last-modified': 'Sun, 06 Nov 1994 08:49:37 GMT' }
  const upstream: Upstream = () => ({ headers: PRIVATE, body: ['mine'] })
  const cases = [
    { name: 'its tag', headers: { 'if-none-match': '"v"' }, status: 304 },
    { name: 'its tag among others, weakly', headers: { 'if-none-match': '"a", W/"v"' }, status: 304 },
    { name: 'any tag', headers: { 'if-none-match': '*' }, status: 304 },
    { name: 'another tag', headers: { 'if-none-match': '"w"' }, status: 200 },
    { name: 'its date', headers: { 'if-modified-since': 'Sun, 06 Nov 1994 08:49:37 GMT' }, status: 304 },
    { name: 'another tag that must match', headers: { 'if-match': '"w"' }, status: 412 },
  ] as const
  for (const { name, headers, status } of cases)
    test(`${name}: ${status}`, async () => {
      await withEdge(upstream, async (edge) => {
        const answer = await edge.get(PATH, headers)
        if (status === 412) isProblem(answer, 412, 'precondition_failed')
        else assert.equal(answer.status, status)
        if (status === 304) assert.equal(answer.headers['etag'], '"v"')
        assert.equal(answer.body.toString() === 'mine', status === 200)
        assert.equal(edge.upstream.canceled > 0 || status === 200, true)
      })
    })
})

test('Date is the upstream’s, or when its answer came: one field, in every answer', async () => {
  const WALL = 'Sun, 06 Nov 1994 08:49:37 GMT'
  await withEdge(
    ({ url }) => ({ headers: url.pathname.endsWith('dated') ? { ...FRESH, date: WALL } : FRESH, body: ['x'] }),
    async (edge) => {
      for (let round = 0; round < 2; round += 1) {
        assert.equal((await edge.get(`${PATH}/dated`)).headers['date'], WALL)
        const { headers } = await edge.get(`${PATH}/other`)
        assert.match(headers['date'] ?? '', /^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/)
        await edge.sleep(2000)
      }
    },
    { config: LIVE },
  )
})

test('what an upstream says before its answer goes on to all who wait for it, as far as its headers may, and is not kept', async () => {
  const routes = { up: { upstream: 'https://up.example/', response_headers: ['link'] } }
  await withEdge(
    () => ({
      headers: FRESH,
      body: ['x'],
      afterMs: 100,
      interim: [
        [102, {}],
        [103, { link: '</a.css>; rel=preload', 'set-cookie': 'a=b', 'x-unlisted': '1' }],
      ],
    }),
    async (edge) => {
      const heard: string[][] = [[], [], []]
      const ask = async (at: number): Promise<number> => {
        const answer = await edge.running.ingress.handle({
          method: 'GET',
          target: PATH,
          headers: ['Host', 'localhost'],
          body: undefined,
          peer: { address: '127.0.0.1', kind: 'tcp' },
          listenerKind: 'service',
          crowded: false,
          signal: new AbortController().signal,
          inform: (status, headers) => heard[at]?.push([status, ...headers].join(' ')),
        })
        if (isStream(answer.body)) for await (const _piece of answer.body);
        return answer.status
      }
      assert.deepEqual(await edge.world.run(Promise.all([ask(0), ask(1)])), [200, 200])
      await edge.sleep(100)
      assert.equal(await edge.world.run(ask(2)), 200)
      const said = ['102', '103 link </a.css>; rel=preload']
      assert.deepEqual(heard, [said, said, []])
    },
    { config: { ...LIVE, routes } },
  )
})
