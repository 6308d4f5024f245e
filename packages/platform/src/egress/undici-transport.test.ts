import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { CairnError, Deadline, type ErrorKind, isKind, type Runtime } from '@cairn/kernel'
import { type IncomingBody, type OutgoingRequest, unixSocketPath, unixUrl } from '@cairn/transport'
import { OriginServer } from './test/origin-server.ts'
import { realRuntime } from './test/real-runtime.ts'
import { selfSigned } from './test/self-signed.ts'
import { UndiciTransport } from './undici-transport.ts'

const SHORT_MS = 60

function get(runtime: Runtime, url: URL, options: Partial<OutgoingRequest> & { ms?: number } = {}): OutgoingRequest {
  return { method: 'GET', headers: {}, deadline: Deadline.after(runtime.clock, options.ms ?? 5000), ...options, url }
}

async function text(body: IncomingBody): Promise<string> {
  const chunks: Uint8Array[] = []
  for await (const chunk of body) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

function isError(kind: ErrorKind, code: string): (error: unknown) => boolean {
  return (error) => {
    assert.ok(isKind(error, kind), String(error))
    assert.equal(error.code, code)
    return true
  }
}

test('method, path, query, headers and body go out; status, headers and body come back', async () => {
  await using runtime = realRuntime()
  await using origin = await OriginServer.http((request, response) => {
    response.writeHead(201, { 'X-Two': ['a', 'b'], 'Set-Cookie': 'no=thanks' })
    response.write(`${request.method} ${request.url} ${String(request.headers['x-one'])} `)
    request.pipe(response)
  })
  await using transport = new UndiciTransport(runtime)
  const body = new TextEncoder().encode('payload')
  const response = await transport.request(
    get(runtime, origin.url('/p%20q?r=s'), { method: 'PUT', headers: { 'x-one': '1' }, body }),
  )
  assert.equal(response.status, 201)
  assert.equal(response.headers['x-two'], 'a, b')
  assert.equal(response.headers['set-cookie'], undefined)
  assert.equal(await text(response.body), 'PUT /p%20q?r=s 1 payload')
})

test('a Unix socket is a target like any other', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'cairn-unix-'))
  try {
    await using runtime = realRuntime()
    const socketPath = join(directory, 'a socket%.sock')
    await using _origin = await OriginServer.http((request, response) => {
      response.end(`${request.headers.host} ${request.url}`)
    }, socketPath)
    await using transport = new UndiciTransport(runtime)
    const url = unixUrl(socketPath, '/version?x=1')
    assert.equal(unixSocketPath(url), socketPath)
    for (let time = 0; time < 2; time += 1) {
      assert.equal(await text((await transport.request(get(runtime, url))).body), 'localhost /version?x=1')
    }
    await assert.rejects(
      transport.request(get(runtime, unixUrl(join(directory, 'none.sock')))),
      isError('Timeout', 'unreachable'),
    )
  } finally {
    rmSync(directory, { recursive: true })
  }
})

test('bodies stream both ways', async () => {
  await using runtime = realRuntime()
  await using origin = await OriginServer.http((request, response) => {
    request.pipe(response)
  })
  await using transport = new UndiciTransport(runtime)
  let sent = 0
  async function* parts(): AsyncGenerator<Uint8Array> {
    for (; sent < 64; sent += 1) yield new Uint8Array(64 * 1024).fill(sent)
  }
  const response = await transport.request(get(runtime, origin.url('/'), { method: 'POST', body: parts() }))
  let received = 0
  for await (const chunk of response.body) received += chunk.length
  assert.equal(received, 64 * 64 * 1024)
})

test('connections are reused', async () => {
  await using runtime = realRuntime()
  await using origin = await OriginServer.http((_request, response) => {
    response.end('x')
  })
  await using transport = new UndiciTransport(runtime)
  for (let time = 0; time < 5; time += 1) await text((await transport.request(get(runtime, origin.url('/')))).body)
  // A connection may be free only a moment after its answer is read, so the second request may open another.
  assert.ok(origin.connections <= 2, String(origin.connections))
})

test('an answer without a body leaves nothing to read and no timer behind', async () => {
  await using runtime = realRuntime()
  await using origin = await OriginServer.http((request, response) => {
    response.statusCode = request.url === '/204' ? 204 : 200
    response.end(request.url === '/204' || request.url === '/0' ? undefined : 'body')
  })
  await using transport = new UndiciTransport(runtime)
  for (const [method, path] of [
    ['HEAD', '/'],
    ['GET', '/204'],
    ['GET', '/0'],
  ] as const) {
    const response = await transport.request(get(runtime, origin.url(path), { method }))
    assert.equal(runtime.clock.pending(), 0)
    assert.equal(await text(response.body), '')
  }
})

test('the deadline ends a request that waits for connection, headers or body', async () => {
  await using runtime = realRuntime()
  await using silent = await OriginServer.tcp(() => {})
  await using halfway = await OriginServer.http((_request, response) => {
    response.write('half')
  })
  await using transport = new UndiciTransport(runtime)
  // The TLS handshake never ends.
  await assert.rejects(
    transport.request(get(runtime, silent.url('/', 'https'), { ms: SHORT_MS })),
    isError('Timeout', 'timeout'),
  )
  await assert.rejects(
    transport.request(get(runtime, silent.url('/'), { ms: SHORT_MS })),
    isError('Timeout', 'timeout'),
  )
  const response = await transport.request(get(runtime, halfway.url('/'), { ms: SHORT_MS }))
  await assert.rejects(text(response.body), isError('Timeout', 'timeout'))
})

test('the signal ends a request at every stage, with its own reason', async () => {
  await using runtime = realRuntime()
  await using silent = await OriginServer.tcp(() => {})
  await using halfway = await OriginServer.http((_request, response) => {
    response.write('half')
  })
  await using transport = new UndiciTransport(runtime)
  const reason = new CairnError('Canceled', 'The caller left.', { code: 'caller_left' })
  for (const url of [silent.url('/', 'https'), silent.url('/')]) {
    const controller = new AbortController()
    const pending = transport.request(get(runtime, url, { signal: controller.signal }))
    setImmediate(() => controller.abort(reason))
    await assert.rejects(pending, isError('Canceled', 'caller_left'))
  }
  const controller = new AbortController()
  const response = await transport.request(get(runtime, halfway.url('/'), { signal: controller.signal }))
  controller.abort(reason)
  await assert.rejects(text(response.body), isError('Canceled', 'caller_left'))
})

test('a request whose budget is gone, or whose caller left, is not sent', async () => {
  await using runtime = realRuntime()
  await using origin = await OriginServer.http((_request, response) => {
    response.end()
  })
  await using transport = new UndiciTransport(runtime)
  await assert.rejects(transport.request(get(runtime, origin.url('/'), { ms: 0 })), isError('Timeout', 'timeout'))
  const signal = AbortSignal.abort(new CairnError('Canceled', 'Gone.'))
  await assert.rejects(transport.request(get(runtime, origin.url('/'), { signal })), isError('Canceled', 'canceled'))
  // Connections are accepted in order: had one been opened before, it is counted once this one is answered.
  const socket = connect(origin.port, '127.0.0.1')
  socket.write('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n')
  await once(socket, 'data')
  socket.destroy()
  assert.equal(origin.connections, 1)
})

test('every way a target can fail has its own error', async () => {
  await using runtime = realRuntime()
  await using transport = new UndiciTransport(runtime)
  const closed = await OriginServer.tcp(() => {})
  const refusedUrl = closed.url('/')
  await closed[Symbol.asyncDispose]()
  await assert.rejects(transport.request(get(runtime, refusedUrl)), isError('Timeout', 'unreachable'))

  await using resets = await OriginServer.tcp((socket) => socket.once('data', () => socket.resetAndDestroy()))
  await assert.rejects(transport.request(get(runtime, resets.url('/'))), isError('Timeout', 'connection_lost'))

  await using shortens = await OriginServer.tcp((socket) =>
    socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf')),
  )
  const response = await transport.request(get(runtime, shortens.url('/')))
  await assert.rejects(text(response.body), isError('Timeout', 'connection_lost'))

  await using babbles = await OriginServer.tcp((socket) =>
    socket.once('data', () => socket.end('not http at all\r\n\r\n')),
  )
  await assert.rejects(transport.request(get(runtime, babbles.url('/'))), isError('Internal', 'bad_answer'))

  await using verbose = await OriginServer.tcp((socket) =>
    socket.once('data', () => socket.end(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`)),
  )
  await assert.rejects(transport.request(get(runtime, verbose.url('/'))), isError('Internal', 'bad_answer'))

  await using stranger = await OriginServer.https((_request, answer) => answer.end(), selfSigned([], ['127.0.0.1']))
  await assert.rejects(
    transport.request(get(runtime, stranger.url('/', 'https'))),
    isError('Integrity', 'tls_untrusted'),
  )

  const headers = { 'x-bad': 'a\r\nb: c' }
  await assert.rejects(
    transport.request(get(runtime, stranger.url('/'), { headers })),
    isError('Malformed', 'malformed'),
  )
})

test('a canceled body closes its connection', async () => {
  await using runtime = realRuntime()
  await using origin = await OriginServer.http((_request, response) => {
    response.write('endless')
  })
  await using transport = new UndiciTransport(runtime)
  const response = await transport.request(get(runtime, origin.url('/')))
  response.body.cancel()
  response.body.cancel()
  await origin.quiet()
  assert.equal(runtime.clock.pending(), 0)
})

test('a reader that stops early closes its connection', async () => {
  await using runtime = realRuntime()
  await using origin = await OriginServer.http((_request, response) => {
    response.write('endless')
  })
  await using transport = new UndiciTransport(runtime)
  const response = await transport.request(get(runtime, origin.url('/')))
  for await (const _chunk of response.body) break
  await origin.quiet()
})

test('closing the transport ends what is under way', async () => {
  await using runtime = realRuntime()
  await using silent = await OriginServer.tcp(() => {})
  const transport = new UndiciTransport(runtime)
  const pending = transport.request(get(runtime, silent.url('/')))
  const ended = assert.rejects(pending, isError('Canceled', 'canceled'))
  await new Promise((resolve) => setImmediate(resolve))
  await transport.close()
  await ended
})

test('a proxy in the environment is not used', async (t) => {
  await using runtime = realRuntime()
  await using proxy = await OriginServer.tcp(() => {})
  await using origin = await OriginServer.http((_request, response) => {
    response.end('direct')
  })
  const names = ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'https_proxy', 'ALL_PROXY', 'NODE_USE_ENV_PROXY']
  const before = names.map((name) => [name, process.env[name]] as const)
  t.after(() => {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
  })
  for (const name of names) process.env[name] = name === 'NODE_USE_ENV_PROXY' ? '1' : `http://127.0.0.1:${proxy.port}`
  await using transport = new UndiciTransport(runtime)
  assert.equal(await text((await transport.request(get(runtime, origin.url('/')))).body), 'direct')
  assert.equal(proxy.connections, 0)
})
