/** Connections that begin plain, over real sockets: what they answer, and when `node:http` takes them over. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Route, route } from '../pipeline/route.ts'
import { json } from '../response/message.ts'
import { HELLO } from '../test/fixture.ts'
import { listening, until } from '../test/listening.ts'
import { ECHO } from '../test/routes.ts'

const TIMEOUT = { timeout: 30_000 }
const HEAD = 'Host: localhost\r\n'
const GET = `GET /hello HTTP/1.1\r\n${HEAD}\r\n`
const POST = `POST /echo HTTP/1.1\r\n${HEAD}Content-Length: 5\r\n\r\nhello`

const BYTES: Route = route({
  ...HELLO,
  path: '/bytes',
  handler: ({ queryText }) => ({ status: 200, headers: [], body: new Uint8Array(Number(queryText)).fill(120) }),
})

const PIECES: Route = route({
  ...HELLO,
  path: '/pieces',
  handler: () => ({
    status: 200,
    headers: [],
    body: (async function* () {
      yield Buffer.from('one')
      yield Buffer.from('')
      yield Buffer.from('two')
    })(),
  }),
})

describe('connections that begin plain', TIMEOUT, () => {
  test('go on with node:http from the first request that is not, and stay open', async () => {
    await using server = await listening({ routes: [ECHO] })
    const client = await server.connect()
    for (const [text, body] of [
      [GET, '{"hello":"world"}'],
      [GET, '{"hello":"world"}'],
      [POST, 'hello'],
      [GET, '{"hello":"world"}'],
    ] as const) {
      client.send(text)
      assert.equal((await client.response())?.body, body)
    }
    assert.equal(server.listener.openConnections, 1)
    client.end()
  })

  test('go on with node:http when a head comes in parts, or two come at once', async () => {
    await using server = await listening()
    const client = await server.connect()
    client.send(GET)
    assert.equal((await client.response())?.status, 200)
    client.send(GET.slice(0, 20))
    await until(() => client.socket.writableLength === 0)
    client.send(GET.slice(20) + GET)
    for (const _both of [1, 2]) assert.equal((await client.response())?.status, 200)
    client.end()
  })

  test('answer bodies of every length, short and long, once each', async () => {
    await using server = await listening({ routes: [BYTES, PIECES] })
    const client = await server.connect()
    for (const length of [0, 1, 8192, 8193, 65_536, 65_537, 3_000_000]) {
      client.send(`GET /bytes?${length} HTTP/1.1\r\n${HEAD}\r\n`)
      const response = await client.response()
      assert.deepEqual([response?.headers['content-length'], response?.body.length], [String(length), length])
    }
    client.send(`HEAD /bytes?9 HTTP/1.1\r\n${HEAD}\r\n`)
    const head = await client.response(true)
    assert.deepEqual([head?.headers['content-length'], head?.body], ['9', ''])
    client.send(`GET /pieces HTTP/1.1\r\n${HEAD}\r\n`)
    await client.until('3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n')
    client.end()
  })

  test('keep what comes during an answer, and read it after', async () => {
    const gate = Promise.withResolvers<void>()
    const slow: Route = route({
      ...HELLO,
      path: '/slow',
      handler: async () => {
        await gate.promise
        return json(200, 'slow')
      },
    })
    await using server = await listening({ routes: [slow, ECHO] })
    const client = await server.connect()
    client.send(`GET /slow HTTP/1.1\r\n${HEAD}\r\n`)
    await until(() => server.ingress.openRequests === 1)
    client.send(GET)
    client.send(POST)
    await until(() => client.socket.writableLength === 0)
    gate.resolve()
    for (const body of ['"slow"', '{"hello":"world"}', 'hello']) assert.equal((await client.response())?.body, body)
    client.end()
  })

  test('tell how long they are kept, and the date', async () => {
    await using server = await listening({ config: { idle_timeout: '60s' } })
    const client = await server.connect()
    client.send(GET)
    const response = await client.response()
    assert.deepEqual([response?.headers['connection'], response?.headers['keep-alive']], ['keep-alive', 'timeout=60'])
    assert.ok(Number.isFinite(Date.parse(response?.headers['date'] ?? '')))
    client.end()
  })
})
