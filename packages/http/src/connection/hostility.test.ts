/** Hostile and broken clients: each gets the right status or is closed in time, and no other client notices. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import * as zlib from 'node:zlib'
import { type Route, route } from '../pipeline/route.ts'
import { json } from '../response/message.ts'
import { bodyOf } from '../test/fixture.ts'
import { type Listening, listening, until } from '../test/listening.ts'
import type { RawClient } from '../test/raw-client.ts'
import { ECHO, NOTE } from '../test/routes.ts'

/** Every test has its own server, and most of their time is spent waiting for it. */
const TIMEOUT = { timeout: 30_000, concurrency: 4 }

const SECURED: Route = route({
  method: 'POST',
  path: '/secured',
  lane: 'inline',
  summary: 'Behind a capability.',
  scope: 'storage:write',
  body: 'bytes',
  responses: {},
  handler: () => json(200, {}),
})

/** Sends until it is canceled. */
const ENDLESS: Route = route({
  method: 'GET',
  path: '/endless',
  lane: 'inline',
  summary: 'Never ends.',
  limits: { stream: true },
  responses: {},
  handler: () => ({
    status: 200,
    headers: [],
    body: (async function* () {
      for (;;) yield new Uint8Array(64 * 1024)
    })(),
  }),
})

const LARGE: Route = route({
  method: 'GET',
  path: '/large',
  lane: 'inline',
  summary: 'Much, at once.',
  responses: {},
  handler: () => ({ status: 200, headers: [], body: new Uint8Array(64 * 1024 * 1024) }),
})

const UPLOAD: Route = route({
  method: 'POST',
  path: '/upload',
  lane: 'inline',
  summary: 'Counts what comes.',
  limits: { stream: true, streamBytes: 2 ** 32 },
  responses: {},
  handler: async ({ stream }) => {
    let bytes = 0
    for await (const chunk of stream ?? []) bytes += chunk.length
    return json(200, { bytes })
  },
})

async function hostile(config: Parameters<typeof listening>[0] = {}): Promise<Listening> {
  return await listening({
    routes: [ECHO, NOTE, SECURED, ENDLESS, LARGE, UPLOAD],
    ...config,
  })
}

const HEAD = 'Host: localhost\r\n'
const HELLO_LABELS = { route: '/hello', method: 'GET', status: '200' }

describe('the budget of a request whose body does not come', TIMEOUT, () => {
  test('a body that is not in when the time of the request is over is answered 408, and counted once as a read', async () => {
    for (const read_timeout of ['300ms', '10s']) {
      await using server = await hostile({ config: { request_timeout: '300ms', read_timeout } })
      const response = await server.exchange(`POST /echo HTTP/1.1\r\n${HEAD}Content-Length: 10\r\n\r\nhel`)
      assert.equal(response?.status, 408)
      assert.match(response.body, /slow_body/)
      assert.equal(server.runtime.metrics.value('io_timeouts_total', { op: 'read' }), 1)
      assert.equal(server.runtime.metrics.value('io_timeouts_total', { op: 'request' }), 0)
      await server.bystander()
    }
  })

  test('a budget of the client that runs out while its body comes is answered 504', async () => {
    await using server = await hostile({ config: { read_timeout: '10s' } })
    const fields = `${HEAD}Request-Timeout: 100ms\r\nContent-Length: 10\r\n`
    const response = await server.exchange(`POST /echo HTTP/1.1\r\n${fields}\r\nhel`)
    assert.equal(response?.status, 504)
    await server.bystander()
  })
})

describe('clients that are slow', TIMEOUT, () => {
  test('a connection that says nothing is answered 408 and closed', async () => {
    await using server = await hostile({ config: { header_timeout: '1s' } })
    const response = await server.exchange('')
    assert.equal(response?.status, 408)
    assert.equal(server.runtime.metrics.value('io_timeouts_total', { op: 'read' }), 1)
    await server.bystander()
  })

  test('a header that never ends is answered 408, however steadily it grows', async () => {
    await using server = await hostile({ config: { header_timeout: '1s' } })
    const client = await server.connect()
    client.send(`GET /hello HTTP/1.1\r\n${HEAD}`)
    const trickle = setInterval(() => client.send('X: y\r\n'), 20)
    assert.equal((await client.response())?.status, 408)
    clearInterval(trickle)
    await client.closed
    await server.bystander()
  })

  test('a body that stops is answered 408', async () => {
    await using server = await hostile({ config: { read_timeout: '300ms' } })
    const response = await server.exchange(`POST /echo HTTP/1.1\r\n${HEAD}Content-Length: 10\r\n\r\nhel`)
    assert.equal(response?.status, 408)
    assert.equal(response.headers['connection'], 'close')
    assert.match(response.body, /slow_body/)
    await server.bystander()
  })

  test('a body below the least rate is answered 408, though it never stops', async () => {
    await using server = await hostile({ config: { min_bytes_per_second: 10_000, rate_window: '400ms' } })
    const client = await server.connect()
    client.send(`POST /upload HTTP/1.1\r\n${HEAD}Content-Length: 1000000\r\n\r\n`)
    const trickle = setInterval(() => client.send('x'.repeat(20)), 20)
    assert.equal((await client.response())?.status, 408)
    clearInterval(trickle)
    await client.closed
    await server.bystander()
  })

  test('a body above the least rate is taken, however long it takes', async () => {
    // One of the parts below is enough for a window: a machine that is busy may hold up the others.
    await using server = await hostile({ config: { min_bytes_per_second: 50, rate_window: '2s' } })
    const client = await server.connect()
    client.send(`POST /upload HTTP/1.1\r\n${HEAD}Content-Length: 8000\r\n\r\n`)
    let left = 80
    const steady = setInterval(() => {
      client.send('x'.repeat(100))
      left -= 1
      if (left === 0) clearInterval(steady)
    }, 30)
    const response = await client.response()
    assert.deepEqual([response?.status, response?.body], [200, '{"bytes":8000}'])
    client.end()
  })

  for (const path of ['/endless', '/large']) {
    test(`a client that does not read ${path} is cut off`, async () => {
      await using server = await hostile({ config: { write_timeout: '300ms' } })
      const client = await server.connect()
      client.socket.pause()
      client.send(`GET ${path} HTTP/1.1\r\n${HEAD}\r\n`)
      await until(() => server.runtime.metrics.value('io_timeouts_total', { op: 'write' }) === 1)
      await until(() => server.listener.openConnections === 0 && server.ingress.openRequests === 0)
      client.end()
      await server.bystander()
    })
  }

  test('a client that reads slower than the least rate is cut off', async () => {
    await using server = await hostile({ config: { min_bytes_per_second: 2 ** 40, rate_window: '400ms' } })
    const client = await server.connect()
    client.send(`GET /endless HTTP/1.1\r\n${HEAD}\r\n`)
    client.forget()
    await client.closed
    assert.equal(server.runtime.metrics.value('io_timeouts_total', { op: 'write' }), 1)
    await server.bystander()
  })

  test('an idle connection is closed after its time', async () => {
    await using server = await hostile({ config: { idle_timeout: '100ms' } })
    const client = await server.connect()
    client.send(`GET /hello HTTP/1.1\r\n${HEAD}\r\n`)
    assert.equal((await client.response())?.status, 200)
    await client.closed
  })
})

describe('messages that are too large', TIMEOUT, () => {
  test('a header above 16 KiB is 431', async () => {
    await using server = await hostile()
    const response = await server.exchange(`GET /hello HTTP/1.1\r\n${HEAD}X-Long: ${'x'.repeat(17_000)}\r\n\r\n`)
    assert.equal(response?.status, 431)
    assert.equal(response.headers['content-type'], 'application/problem+json')
    await server.bystander()
  })

  test('a second Host behind a thousand other fields is still seen', async () => {
    await using server = await hostile()
    const client = await server.connect()
    client.send(`GET /hello HTTP/1.1\r\n${HEAD}${'a:b\r\n'.repeat(2500)}Host: evil.example\r\n\r\n`)
    const response = await client.response()
    assert.deepEqual([response?.status, /repeated_header/.test(response?.body ?? '')], [400, true])
    client.end()
  })

  test('2 MiB with a length are refused by the length', async () => {
    await using server = await hostile()
    const head = `POST /echo HTTP/1.1\r\n${HEAD}Content-Length: ${2 ** 21}\r\n\r\n`
    const response = await server.exchange(Buffer.concat([Buffer.from(head), Buffer.alloc(2 ** 21)]))
    assert.deepEqual([response?.status, response?.headers['connection']], [413, 'close'])
    await server.bystander()
  })

  test('2 MiB in chunks are refused when they pass the cap', async () => {
    await using server = await hostile()
    const chunk = `10000\r\n${'x'.repeat(65_536)}\r\n`
    const response = await server.exchange(
      `POST /echo HTTP/1.1\r\n${HEAD}Transfer-Encoding: chunked\r\n\r\n${chunk.repeat(32)}0\r\n\r\n`,
    )
    assert.equal(response?.status, 413)
    await server.bystander()
  })

  for (const [coding, bomb] of [
    ['gzip', zlib.gzipSync(new Uint8Array(64 * 2 ** 20))],
    [
      'br',
      zlib.brotliCompressSync(new Uint8Array(64 * 2 ** 20), { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 3 } }),
    ],
    ['zstd', zlib.zstdCompressSync(new Uint8Array(64 * 2 ** 20))],
  ] as const) {
    test(`a ${coding} bomb of ${bomb.length} bytes for 64 MiB is 413, and the connection lives on`, async () => {
      await using server = await hostile()
      const client = await server.connect()
      client.send(`POST /echo HTTP/1.1\r\n${HEAD}Content-Encoding: ${coding}\r\nContent-Length: ${bomb.length}\r\n\r\n`)
      client.send(bomb)
      const response = await client.response()
      assert.deepEqual([response?.status, /ratio_cap/.test(response?.body ?? '')], [413, true])
      assert.equal(server.runtime.metrics.value('decompress_reject_total', { reason: 'cap' }), 1)
      client.send(`GET /hello HTTP/1.1\r\n${HEAD}\r\n`)
      assert.equal((await client.response())?.status, 200)
      client.end()
    })
  }

  test('1 GiB behind an early 401 is answered at once and hardly read', async () => {
    await using server = await hostile()
    const client = await server.connect()
    client.send(`POST /secured HTTP/1.1\r\n${HEAD}Content-Length: ${2 ** 30}\r\n\r\n`)
    const block = Buffer.alloc(256 * 1024)
    const pour = (): void => {
      while (!client.isClosed && client.socket.write(block));
    }
    client.socket.on('drain', pour)
    pour()
    const response = await client.response()
    assert.deepEqual([response?.status, response?.headers['connection']], [401, 'close'])
    await client.closed
    // What the system's buffers took, and the 64 KiB of courtesy; the rest of the gigabyte never left the client.
    assert.ok(client.socket.bytesWritten < 64 * 2 ** 20, `${client.socket.bytesWritten}`)
    await server.bystander()
  })
})

describe('messages that two readers could understand differently', TIMEOUT, () => {
  for (const [name, text] of [
    [
      'Content-Length and Transfer-Encoding',
      `POST /echo HTTP/1.1\r\n${HEAD}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    ],
    ['two lengths that differ', `POST /echo HTTP/1.1\r\n${HEAD}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello`],
    ['two lengths that agree', `POST /echo HTTP/1.1\r\n${HEAD}Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello`],
    ['two Hosts', `GET /hello HTTP/1.1\r\n${HEAD}${HEAD}\r\n`],
    ['two Authorizations', `GET /hello HTTP/1.1\r\n${HEAD}Authorization: a\r\nAuthorization: b\r\n\r\n`],
    ['a list of lengths', `POST /echo HTTP/1.1\r\n${HEAD}Content-Length: 5, 5\r\n\r\nhello`],
    ['a negative length', `POST /echo HTTP/1.1\r\n${HEAD}Content-Length: -1\r\n\r\n`],
    ['a length with a sign', `POST /echo HTTP/1.1\r\n${HEAD}Content-Length: +5\r\n\r\nhello`],
    [
      'chunked twice',
      `POST /echo HTTP/1.1\r\n${HEAD}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    ],
    ['an unknown transfer coding', `POST /echo HTTP/1.1\r\n${HEAD}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`],
    ['chunked not last', `POST /echo HTTP/1.1\r\n${HEAD}Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n`],
    ['a chunk size that is no number', `POST /echo HTTP/1.1\r\n${HEAD}Transfer-Encoding: chunked\r\n\r\nzz\r\n`],
    ['a space before the colon', `GET /hello HTTP/1.1\r\nHost : localhost\r\n\r\n`],
    ['a folded field', `GET /hello HTTP/1.1\r\n${HEAD}X: a\r\n b\r\n\r\n`],
    ['bare line feeds', `GET /hello HTTP/1.1\nHost: localhost\n\n`],
    ['a NUL in a field', `GET /hello HTTP/1.1\r\n${HEAD}X: a\0b\r\n\r\n`],
    ['a version of the future', `GET /hello HTTP/3.0\r\n${HEAD}\r\n`],
    ['no request at all', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 not http'],
  ] as const) {
    test(`${name}: 400, and the connection is closed`, async () => {
      await using server = await hostile()
      const response = await server.exchange(text)
      assert.equal(response?.status, 400)
      assert.ok(response.headers['x-corr-id'] !== undefined)
      await server.bystander()
    })
  }

  for (const [name, text, status] of [
    ['no Host', 'GET /hello HTTP/1.1\r\n\r\n', 400],
    ['a foreign Host', 'GET /hello HTTP/1.1\r\nHost: evil.example\r\n\r\n', 421],
    ['an empty Host', 'GET /hello HTTP/1.1\r\nHost:\r\n\r\n', 421],
    ['an absolute form of others', `GET http://evil.example/hello HTTP/1.1\r\n${HEAD}\r\n`, 421],
    ['encoded dots', `GET /%2e%2e/hello HTTP/1.1\r\n${HEAD}\r\n`, 400],
    ['an encoded slash', `GET /a%2Fb HTTP/1.1\r\n${HEAD}\r\n`, 400],
    ['an encoded backslash', `GET /a%5cb HTTP/1.1\r\n${HEAD}\r\n`, 400],
    ['an encoded NUL', `GET /a%00 HTTP/1.1\r\n${HEAD}\r\n`, 400],
    ['dot segments', `GET /a/../hello HTTP/1.1\r\n${HEAD}\r\n`, 400],
    ['two slashes', `GET //hello HTTP/1.1\r\n${HEAD}\r\n`, 400],
    ['an unknown expectation', `GET /hello HTTP/1.1\r\n${HEAD}Expect: tea\r\n\r\n`, 417],
  ] as const) {
    test(`${name}: ${status}`, async () => {
      await using server = await hostile()
      const client = await server.connect()
      client.send(text)
      assert.equal((await client.response())?.status, status)
      client.end()
      await server.bystander()
    })
  }

  for (const [name, text] of [
    ['GET', `GET /hello HTTP/1.1\r\n${HEAD}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n`],
    ['POST', `POST /echo HTTP/1.1\r\n${HEAD}Connection: Upgrade\r\nUpgrade: x\r\nContent-Length: 2\r\n\r\nhi`],
  ] as const) {
    test(`an offer to upgrade a ${name} is passed over, and nothing behind it is answered in its place`, async () => {
      await using server = await hostile()
      const next = `GET /hello?next HTTP/1.1\r\n${HEAD}\r\n`
      const client = await server.connect()
      client.send(text + next + next)
      const response = await client.response()
      assert.deepEqual([response?.status, response?.headers['connection']], [200, 'close'])
      await client.closed
      assert.equal(client.received, '')
      await server.bystander()
    })
  }

  test('a tunnel is not opened', async () => {
    await using server = await hostile()
    assert.equal(
      await server.exchange('CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n'),
      undefined,
    )
    await server.bystander()
  })
})

describe('connections without end', { timeout: 60_000 }, () => {
  test('10 000 connections from one address: it keeps 256 and a few that are told why, others are served', async () => {
    await using server = await hostile({ config: { max_connections_per_address: 256, header_timeout: '30s' } })
    let most = 0
    const held: RawClient[] = []
    for (let batch = 0; batch < 20; batch += 1) {
      const clients = await Promise.all(Array.from({ length: 500 }, async () => await server.connect()))
      most = Math.max(most, server.listener.openConnections)
      if (batch === 0) held.push(...clients)
      else await Promise.all(clients.map(async (client) => await client.closed))
      if (batch % 5 === 0) await server.bystander()
    }
    // One more for the bystander, whose connection may not be gone yet.
    assert.ok(most <= 256 + 16 + 1, `${most} at once`)
    await until(() => server.listener.openConnections === held.filter(({ isClosed }) => !isClosed).length)
    const alive = held.filter(({ isClosed }) => !isClosed)
    for (const client of alive) client.send(`GET /hello HTTP/1.1\r\n${HEAD}\r\n`)
    const statuses = await Promise.all(alive.map(async (client) => (await client.response())?.status))
    assert.equal(statuses.filter((status) => status === 200).length, 256)
    assert.deepEqual(new Set(statuses), new Set([200, 429]))
    assert.equal(server.runtime.metrics.value('connections_refused_total', { reason: 'address' }), 10_000 - 256 - 16)
    for (const client of held) client.end()
    await server.bystander()
  })

  test('with every place taken by idle connections, whoever asks for something gets one', async () => {
    await using server = await hostile({ config: { max_connections: 64, header_timeout: '30s' } })
    const clients = await Promise.all(Array.from({ length: 1000 }, async () => await server.connect()))
    assert.ok(server.listener.openConnections <= 64)
    await server.bystander()
    for (const client of clients) client.end()
  })

  test('with every place taken by requests, the next one is told so', async () => {
    const gate = Promise.withResolvers<void>()
    const slow = route({
      ...ECHO,
      method: 'GET',
      path: '/slow',
      body: undefined as never,
      handler: async () => {
        await gate.promise
        return json(200, {})
      },
    })
    await using server = await listening({ routes: [slow], config: { max_connections: 2 } })
    const busy = await Promise.all([server.connect(), server.connect()])
    for (const client of busy) client.send(`GET /slow HTTP/1.1\r\n${HEAD}\r\n`)
    await until(() => server.ingress.openRequests === 2)
    const client = await server.connect()
    client.send(`GET /hello HTTP/1.1\r\n${HEAD}\r\n`)
    const response = await client.response()
    assert.deepEqual([response?.status, response?.headers['connection']], [429, 'close'])
    gate.resolve()
    for (const { status } of (await Promise.all(busy.map(async (one) => await one.response()))).filter(
      (one) => one !== undefined,
    ))
      assert.equal(status, 200)
    for (const one of [...busy, client]) one.end()
  })
})

describe('connections that are half there', TIMEOUT, () => {
  test('a client that closes its side after a request is answered or closed', async () => {
    await using server = await hostile()
    const client = await server.connect()
    client.socket.end(`GET /hello HTTP/1.1\r\n${HEAD}\r\n`)
    await client.closed
    await server.bystander()
  })

  test('a client that vanishes in the middle of a body leaves nothing behind', async () => {
    await using server = await hostile()
    const client = await server.connect()
    client.send(`POST /upload HTTP/1.1\r\n${HEAD}Content-Length: 1000000\r\n\r\nsome`)
    await until(() => server.ingress.openRequests === 1)
    client.socket.resetAndDestroy()
    await until(() => server.ingress.openRequests === 0 && server.listener.openConnections === 0)
    await server.bystander()
  })

  test('a client that vanishes in the middle of an answer ends it', async () => {
    await using server = await hostile()
    const client = await server.connect()
    client.send(`GET /endless HTTP/1.1\r\n${HEAD}\r\n`)
    await client.until('\0\0\0\0')
    client.socket.resetAndDestroy()
    await until(() => server.ingress.openRequests === 0 && server.listener.openConnections === 0)
    await server.bystander()
  })

  test('pipelined requests are answered in order, even behind a slow one', async () => {
    const gate = Promise.withResolvers<void>()
    const slow = route({
      method: 'GET',
      path: '/slow',
      lane: 'inline',
      summary: 'Waits.',
      responses: {},
      handler: async () => {
        await gate.promise
        return { status: 200, headers: [], body: bodyOf('slow') }
      },
    })
    await using server = await listening({ routes: [slow] })
    const client = await server.connect()
    client.send(`GET /slow HTTP/1.1\r\n${HEAD}\r\nGET /hello HTTP/1.1\r\n${HEAD}\r\n`)
    await until(() => {
      server.ingress.updateMetrics()
      return server.runtime.metrics.value('http_requests_total', HELLO_LABELS) === 1
    })
    assert.equal(client.received, '')
    gate.resolve()
    assert.equal((await client.response())?.body, 'slow')
    assert.equal((await client.response())?.body, '{"hello":"world"}')
    client.end()
  })
})
