import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { chmod, mkdtemp, rm, stat } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { CairnError } from '@cairn/kernel'
import { type Route, route } from '../pipeline/route.ts'
import { eventFrame, eventStream } from '../response/event-stream.ts'
import { json } from '../response/message.ts'
import { RENEWED_TLS, TLS } from '../test/certificates.ts'
import { HELLO, ingressConfig } from '../test/fixture.ts'
import { listening, until } from '../test/listening.ts'
import { RawClient } from '../test/raw-client.ts'
import { ECHO, UPLOAD } from '../test/routes.ts'
import { serveNode } from './node-listener.ts'

const TIMEOUT = { timeout: 30_000 }
const HEAD = 'Host: localhost\r\n'

/** Several times what the system's buffers hold. */
const CHUNKS = 500

const SECURED: Route = route({ ...ECHO, path: '/secured', scope: 'storage:write' })

describe('bodies that wait to be asked for', TIMEOUT, () => {
  const ask = (path: string, length: number): string =>
    `POST ${path} HTTP/1.1\r\n${HEAD}Content-Length: ${length}\r\nExpect: 100-continue\r\n\r\n`

  test('are asked for once everything else has passed', async () => {
    await using server = await listening({ routes: [ECHO] })
    const client = await server.connect()
    client.send(ask('/echo', 5))
    assert.equal((await client.response())?.status, 100)
    client.send('hello')
    const response = await client.response()
    assert.deepEqual([response?.status, response?.body], [200, 'hello'])
    client.end()
  })

  for (const [name, path, length, status] of [
    ['without a capability', '/secured', 5, 401],
    ['when they are too large', '/echo', 2 ** 21, 413],
    ['for no route', '/nowhere', 5, 404],
  ] as const) {
    test(`are not asked for ${name}`, async () => {
      await using server = await listening({ routes: [ECHO, SECURED] })
      const client = await server.connect()
      client.send(ask(path, length))
      const response = await client.response()
      assert.deepEqual([response?.status, response?.headers['connection']], [status, 'close'])
      client.end()
    })
  }
})

describe('connections', TIMEOUT, () => {
  test('serve one request after another, bodies nobody asked for included', async () => {
    await using server = await listening({ routes: [ECHO] })
    const client = await server.connect()
    for (let round = 0; round < 3; round += 1) {
      client.send(`GET /hello HTTP/1.1\r\n${HEAD}Content-Length: 5\r\n\r\nstray`)
      assert.equal((await client.response())?.status, 200)
      client.send(`POST /echo HTTP/1.1\r\n${HEAD}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n`)
      assert.equal((await client.response())?.body, 'abcde')
      client.send(`HEAD /hello HTTP/1.1\r\n${HEAD}\r\n`)
      const head = await client.response(true)
      assert.deepEqual([head?.status, head?.headers['content-length'], head?.body], [200, '17', ''])
    }
    assert.equal(server.listener.openConnections, 1)
    client.end()
  })

  const timers = process.platform === 'linux' ? false : 'only Linux shows the timers of sockets'
  test('of a client that says nothing are asked for a sign of life', { skip: timers }, async () => {
    await using server = await listening()
    const client = await server.connect()
    client.send(`GET /hello HTTP/1.1\r\n${HEAD}\r\n`)
    assert.equal((await client.response())?.status, 200)
    const port = server.listener.port.toString(16).toUpperCase().padStart(4, '0')
    // The kind of the timer that runs: 01 while something is unacknowledged, 02 for the sign of life.
    const isWatched = (row: string): boolean => {
      const [, local, , state, , timer] = row.trim().split(/\s+/)
      return local?.endsWith(`:${port}`) === true && state === '01' && timer?.startsWith('02') === true
    }
    await until(() => readFileSync('/proc/net/tcp', 'utf8').split('\n').some(isWatched))
    client.end()
  })

  test('of a leaving listener are answered and closed', async () => {
    await using server = await listening()
    const [idle, asking] = [await server.connect(), await server.connect()]
    const left = server.listener.leave(5000)
    asking.send(`GET /hello HTTP/1.1\r\n${HEAD}\r\n`)
    const response = await asking.response()
    assert.deepEqual([response?.status, response?.headers['connection']], [200, 'close'])
    await asking.closed
    idle.end()
    await left
  })
})

describe('streamed answers', TIMEOUT, () => {
  test('go no faster than the client reads, and end as they should', async () => {
    let made = 0
    const chunks: Route = route({
      ...HELLO,
      path: '/chunks',
      handler: () => ({
        status: 200,
        headers: [],
        body: (async function* () {
          for (; made < CHUNKS; made += 1) yield new Uint8Array(64 * 1024).fill(120)
        })(),
      }),
    })
    await using server = await listening({ routes: [chunks] })
    const client = await server.connect()
    client.socket.removeAllListeners('data')
    client.socket.pause()
    client.send(`GET /chunks HTTP/1.1\r\n${HEAD}\r\n`)
    let before = -1
    await until(() => {
      const isStill = made > 0 && made === before
      before = made
      return isStill
    })
    // The two ends' socket buffers and a chunk or two; the rest has not been made.
    assert.ok(made < 250, `${made} chunks for a client that reads nothing`)
    let received = 0
    let tail = ''
    client.socket.on('data', (bytes: Buffer) => {
      received += bytes.length
      tail = bytes.subarray(-5).toString()
    })
    client.socket.resume()
    await until(() => tail === '0\r\n\r\n')
    assert.ok(received > CHUNKS * 64 * 1024)
    client.end()
  })

  test('that fail after their head break the connection off', async () => {
    const broken: Route = route({
      ...HELLO,
      path: '/broken',
      handler: () => ({
        status: 200,
        headers: [],
        body: (async function* () {
          yield Buffer.from('half')
          throw new CairnError('Integrity', 'The rest does not match.')
        })(),
      }),
    })
    await using server = await listening({ routes: [broken] })
    const client = await server.connect()
    client.send(`GET /broken HTTP/1.1\r\n${HEAD}\r\n`)
    await client.closed
    assert.match(client.received, /^HTTP\/1.1 200 OK/)
    assert.doesNotMatch(client.received, /\r\n0\r\n\r\n$/)
    assert.equal(server.runtime.log.lines.filter(({ message }) => message === 'answer broken off').length, 1)
  })

  test('with a header that cannot be sent are not sent at all', async () => {
    const split: Route = route({
      ...HELLO,
      path: '/split',
      handler: () => json(200, {}, ['X-Name', 'a\r\nSet-Cookie: b']),
    })
    await using server = await listening({ routes: [split] })
    assert.equal(await server.exchange(`GET /split HTTP/1.1\r\n${HEAD}\r\n`), undefined)
  })

  test('hear of a client that leaves', async () => {
    const left = Promise.withResolvers<string>()
    const waiting: Route = route({
      ...HELLO,
      path: '/waiting',
      limits: { stream: true },
      handler: async ({ signal }) =>
        await new Promise((_, reject) => {
          signal.addEventListener('abort', () => {
            left.resolve((signal.reason as CairnError).code)
            reject(signal.reason as CairnError)
          })
        }),
    })
    await using server = await listening({ routes: [waiting] })
    const client = await server.connect()
    client.send(`GET /waiting HTTP/1.1\r\n${HEAD}\r\n`)
    await until(() => server.ingress.openRequests === 1)
    client.end()
    assert.equal(await left.promise, 'client_gone')
  })

  test('of events reach the client as they happen, with heartbeats in between, and end when the service drains', async () => {
    const frames = Promise.withResolvers<Uint8Array>()
    let isClosed = false
    await using server = await listening({
      routes: [
        route({
          ...HELLO,
          path: '/events',
          limits: { stream: true },
          handler: (context) => {
            let count = 0
            const next = async (signal: AbortSignal): Promise<Uint8Array | undefined> => {
              count += 1
              if (count === 1) return await frames.promise
              return await new Promise((resolve) => {
                signal.addEventListener('abort', () => resolve(undefined), { once: true })
              })
            }
            const close = (): void => {
              isClosed = true
            }
            return eventStream(server.runtime.clock, context, { next, close }, 10)
          },
        }),
      ],
    })
    const client = await server.connect()
    client.send(`GET /events HTTP/1.1\r\n${HEAD}\r\n`)
    await client.until(': heartbeat\n\n')
    frames.resolve(eventFrame({ id: '7', event: 'registry.update', data: '{"version":7}' }))
    await client.until('id: 7\nevent: registry.update\ndata: {"version":7}\n\n')
    server.shutdown.taskStarted('listener')
    const task = server.ingress.run({ aborting: server.shutdown.aborting })
    server.shutdown.drain()
    assert.equal((await client.response())?.status, 200)
    await task
    assert.ok(isClosed)
    client.end()
  })

  test('of uploads are counted as they come', async () => {
    await using server = await listening({ routes: [UPLOAD] })
    const client = await server.connect()
    client.send(`POST /upload?stream HTTP/1.1\r\n${HEAD}Content-Length: ${3 * 2 ** 20}\r\n\r\n`)
    client.send(new Uint8Array(3 * 2 ** 20))
    assert.equal((await client.response())?.body, `{"bytes":${3 * 2 ** 20},"streamed":true}`)
    client.end()
  })
})

describe('Unix sockets', TIMEOUT, () => {
  test('are for their owner only, replace what a dead process left, and leave nothing', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'cairn-'))
    const path = join(directory, 'inner', 'cairn.sock')
    {
      await using server = await listening({ address: { kind: 'unix', path } })
      assert.equal((await stat(join(directory, 'inner'))).mode & 0o777, 0o700)
      assert.equal((await stat(path)).mode & 0o777, 0o600)
      const client = await server.connect()
      client.send(`GET /metrics HTTP/1.1\r\n${HEAD}\r\n`)
      assert.equal((await client.response())?.status, 200)
      client.end()
      await assert.rejects(listening({ address: { kind: 'unix', path } }), { code: 'conflict' })
    }
    await assert.rejects(stat(path), { code: 'ENOENT' })
    // Anybody may write there, as in the directory for temporary files of a whole machine.
    await chmod(directory, 0o1777)
    await assert.rejects(listening({ address: { kind: 'unix', path: join(directory, 'in-the-open.sock') } }), {
      code: 'reject_policy',
    })
    await rm(directory, { recursive: true })
  })
})

describe('TLS', TIMEOUT, () => {
  const address = { kind: 'tcp', host: '127.0.0.1', port: 0, tls: TLS } as const

  test('is 1.3 and nothing below', async () => {
    await using server = await listening({ address })
    const client = await RawClient.open({ host: '127.0.0.1', port: server.listener.port, ca: TLS.cert })
    client.send(`GET /hello HTTP/1.1\r\n${HEAD}\r\n`)
    assert.equal((await client.response())?.status, 200)
    client.end()
    const old = connectTls({ host: '127.0.0.1', port: server.listener.port, ca: TLS.cert, maxVersion: 'TLSv1.2' })
    await new Promise((resolve) => old.once('error', resolve))
    const plain = await server.connect()
    plain.send(`GET /hello HTTP/1.1\r\n${HEAD}\r\n`)
    await plain.closed
    await until(() => server.runtime.metrics.value('tls_handshake_failures_total') === 2)
  })

  test('takes a renewed certificate for the next connection', async () => {
    await using server = await listening({ address })
    server.listener.renewTls(RENEWED_TLS)
    const client = await RawClient.open({ host: '127.0.0.1', port: server.listener.port, ca: RENEWED_TLS.cert })
    client.send(`GET /hello HTTP/1.1\r\n${HEAD}\r\n`)
    assert.equal((await client.response())?.status, 200)
    client.end()
  })
})

describe('addresses that cannot be listened on', TIMEOUT, () => {
  test('beyond loopback without TLS', async () => {
    await assert.rejects(listening({ address: { kind: 'tcp', host: '0.0.0.0', port: 0 } }), { code: 'insecure_public' })
  })

  test('taken by somebody else', async () => {
    const other = createServer()
    await new Promise<void>((resolve) => {
      other.listen(0, '127.0.0.1', resolve)
    })
    const { port } = other.address() as { port: number }
    await assert.rejects(listening({ address: { kind: 'tcp', host: '127.0.0.1', port } }), { code: 'cannot_listen' })
    other.close()
    await using server = await listening()
    const { runtime, ingress } = server
    const config = ingressConfig()
    const again = { kind: 'tcp', host: '127.0.0.1', port: server.listener.port } as const
    const spec = { address: again, listenerKind: 'service', insecurePublic: false } as const
    await assert.rejects(serveNode({ runtime, ingress, config, ...spec }), /in use by another program/)
  })
})
