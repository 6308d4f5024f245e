import assert from 'node:assert/strict'
import type { RequestListener } from 'node:http'
import { test } from 'node:test'
import { brotliCompressSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { CairnError, Deadline, type ErrorKind, isKind, type Runtime } from '@cairn/kernel'
import type { IncomingBody, OutgoingRequest } from '@cairn/transport'
import type { Lookup } from './checked-connector.ts'
import { GuardedTransport, type GuardedTransportOptions } from './guarded-transport.ts'
import { OriginServer } from './test/origin-server.ts'
import { realRuntime } from './test/real-runtime.ts'
import { selfSigned } from './test/self-signed.ts'
import { UrlPolicy } from './url-policy.ts'

const NAME = 'tiles.example.org'
const IDENTITY = selfSigned([NAME])

function get(runtime: Runtime, url: string, options: Partial<OutgoingRequest> & { ms?: number } = {}): OutgoingRequest {
  return {
    method: 'GET',
    headers: {},
    deadline: Deadline.after(runtime.clock, options.ms ?? 5000),
    ...options,
    url: new URL(url),
  }
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

/** Answers in turn; the last one stays. Counts how often it was asked. */
class ScriptedLookup implements Lookup {
  readonly #answers: readonly (readonly string[])[]
  asked = 0

  constructor(...answers: readonly (readonly string[])[]) {
    this.#answers = answers
  }

  async addresses(): Promise<readonly string[]> {
    this.asked += 1
    return this.#answers[Math.min(this.asked, this.#answers.length) - 1] ?? []
  }
}

const LOOPBACK: Lookup = { addresses: async () => ['127.0.0.1'] }

function guarded(
  runtime: Runtime,
  allow: readonly string[],
  options: Partial<GuardedTransportOptions> = {},
): GuardedTransport {
  const policy = new UrlPolicy({ allow, devAllowLoopbackHttp: true })
  return new GuardedTransport(runtime, { lookup: LOOPBACK, policy: () => policy, ca: IDENTITY.cert, ...options })
}

const respondWith =
  (status: number, headers: Record<string, string>, body: string | Uint8Array = ''): RequestListener =>
  (_request, response) => {
    response.writeHead(status, headers)
    response.end(body)
  }

test('a name is looked up once, connected by address, and proves itself by name', async () => {
  await using runtime = realRuntime()
  await using origin = await OriginServer.https((request, response) => response.end(request.headers.host), IDENTITY)
  const lookup = new ScriptedLookup(['127.0.0.1'])
  await using transport = guarded(runtime, [`${NAME}:${origin.port}`], { lookup })
  const response = await transport.request(get(runtime, `https://${NAME}:${origin.port}/`))
  assert.equal(await text(response.body), `${NAME}:${origin.port}`)
  assert.equal(lookup.asked, 1)
})

test('a certificate for another name is refused', async () => {
  await using runtime = realRuntime()
  await using origin = await OriginServer.https(respondWith(200, {}), IDENTITY)
  await using transport = guarded(runtime, [`other.example:${origin.port}`])
  const wanted = transport.request(get(runtime, `https://other.example:${origin.port}/`))
  await assert.rejects(wanted, isError('Integrity', 'tls_untrusted'))
})

test('one forbidden address among many refuses them all, and nobody is connected to', async () => {
  await using runtime = realRuntime()
  for (const bad of [
    '10.0.0.1',
    '169.254.169.254',
    'fd00::1',
    '::ffff:127.0.0.1',
    '64:ff9b::7f00:1',
    'not an address',
  ]) {
    const lookup = new ScriptedLookup(['127.0.0.1', bad])
    await using origin = await OriginServer.http(respondWith(200, {}))
    await using transport = guarded(runtime, [`${NAME}:${origin.port}`], { lookup })
    const wanted = transport.request(get(runtime, `http://${NAME}:${origin.port}/`))
    await assert.rejects(wanted, isError('RejectPolicy', 'not_allowed'))
    assert.equal(origin.connections, 0, bad)
  }
})

test('a name that changes its answer is checked again for every new connection', async () => {
  await using runtime = realRuntime()
  await using origin = await OriginServer.http(respondWith(200, { connection: 'close' }, 'ok'))
  const lookup = new ScriptedLookup(['127.0.0.1'], ['10.0.0.1'])
  await using transport = guarded(runtime, [`${NAME}:${origin.port}`], { lookup })
  const url = `http://${NAME}:${origin.port}/`
  assert.equal(await text((await transport.request(get(runtime, url))).body), 'ok')
  await origin.quiet()
  await assert.rejects(transport.request(get(runtime, url)), isError('RejectPolicy', 'not_allowed'))
  assert.equal(lookup.asked, 2)
  assert.equal(origin.connections, 1)
})

test('addresses are tried in turn until one answers', async () => {
  await using runtime = realRuntime()
  await using origin = await OriginServer.http(respondWith(200, {}, 'second'))
  const lookup = new ScriptedLookup(['127.0.0.2', '127.0.0.1'])
  await using transport = guarded(runtime, [`${NAME}:${origin.port}`], { lookup })
  assert.equal(await text((await transport.request(get(runtime, `http://${NAME}:${origin.port}/`))).body), 'second')
  const nothing = guarded(runtime, [`${NAME}:${origin.port}`], { lookup: new ScriptedLookup([]) })
  const wanted = nothing.request(get(runtime, `http://${NAME}:${origin.port}/`))
  await assert.rejects(wanted, isError('Timeout', 'unreachable'))
  await nothing.close()
})

test('a redirect is followed where the policy allows it, and no further', async () => {
  await using runtime = realRuntime()
  await using forbidden = await OriginServer.http(respondWith(200, {}, 'secret'))
  await using origin: OriginServer = await OriginServer.http((request, response) => {
    const target = decodeURIComponent(request.url?.slice(1) ?? '')
    if (target === '') response.end('arrived')
    else respondWith(302, { location: target })(request, response)
  })
  await using transport = guarded(runtime, [`127.0.0.1:${origin.port}`, `${NAME}:${origin.port}`, 'other.example'])
  const start = `http://127.0.0.1:${origin.port}/`
  const via = (location: string): string => start + encodeURIComponent(location)
  assert.equal(await text((await transport.request(get(runtime, via('/')))).body), 'arrived')
  assert.equal(
    await text((await transport.request(get(runtime, via(`http://${NAME}:${origin.port}/`)))).body),
    'arrived',
  )
  const refused = [
    `http://127.0.0.1:${forbidden.port}/`,
    `//127.0.0.1:${forbidden.port}/`,
    `http://user:pass@127.0.0.1:${origin.port}/`,
    `http://127.0.0.1:${origin.port}@127.0.0.1:${forbidden.port}/`,
    `http://${NAME}.evil.example/`,
    'http://other.example/',
    'ftp://127.0.0.1/',
    'file:///etc/passwd',
    'http://[::1',
  ]
  for (const location of refused) {
    await assert.rejects(
      transport.request(get(runtime, via(location))),
      isError('RejectPolicy', 'not_allowed'),
      location,
    )
  }
  assert.equal(forbidden.connections, 0)
})

test('redirects end: three are followed, a fourth is not, and none for what is not GET or HEAD', async () => {
  await using runtime = realRuntime()
  let requests = 0
  await using origin = await OriginServer.http((request, response) => {
    requests += 1
    const left = Number(request.url?.slice(1))
    respondWith(left === 0 ? 200 : 307, left === 0 ? {} : { location: `/${left - 1}` })(request, response)
  })
  await using transport = guarded(runtime, [`127.0.0.1:${origin.port}`])
  const arrived = await transport.request(get(runtime, origin.url('/3').href))
  assert.equal(arrived.status, 200)
  arrived.body.cancel()
  requests = 0
  await assert.rejects(transport.request(get(runtime, origin.url('/9').href)), isError('RejectPolicy', 'not_allowed'))
  assert.equal(requests, 4)
  const post = get(runtime, origin.url('/1').href, { method: 'POST', body: new Uint8Array(3) })
  await assert.rejects(transport.request(post), isError('RejectPolicy', 'not_allowed'))
})

test('no credentials are sent, and the host is the one of the URL', async () => {
  await using runtime = realRuntime()
  await using origin = await OriginServer.http((request, response) => {
    response.end(JSON.stringify(request.headers))
  })
  await using transport = guarded(runtime, [`127.0.0.1:${origin.port}`])
  const headers = {
    Authorization: 'Bearer x',
    cookie: 'a=b',
    'Proxy-Authorization': 'c',
    Host: 'evil',
    accept: 'image/png',
  }
  const response = await transport.request(get(runtime, origin.url('/').href, { headers }))
  assert.deepEqual(JSON.parse(await text(response.body)), {
    host: `127.0.0.1:${origin.port}`,
    connection: 'keep-alive',
    accept: 'image/png',
  })
})

test('bodies are inflated within their limits', async () => {
  await using runtime = realRuntime()
  const limits = { ratioMax: 10, bytesMax: 1024 * 1024 }
  const page = 'a page of text, '.repeat(1000)
  const codings = { gzip: gzipSync(page), br: brotliCompressSync(page), zstd: zstdCompressSync(page) }
  for (const [coding, bytes] of Object.entries(codings)) {
    await using origin = await OriginServer.http(respondWith(200, { 'content-encoding': coding, etag: '"x"' }, bytes))
    await using transport = guarded(runtime, [`127.0.0.1:${origin.port}`], { inflate: limits })
    const response = await transport.request(get(runtime, origin.url('/').href))
    assert.equal(response.headers['content-encoding'], undefined)
    assert.equal(response.headers['content-length'], undefined)
    assert.equal(response.headers['etag'], '"x"')
    assert.equal(await text(response.body), page)
    await using asSent = guarded(runtime, [`127.0.0.1:${origin.port}`])
    const raw = await asSent.request(get(runtime, origin.url('/').href))
    assert.equal(raw.headers['content-encoding'], coding)
    assert.equal(await text(raw.body), bytes.toString())
  }
})

test('a bomb, a body too long, and a coding that lies are refused', async () => {
  await using runtime = realRuntime()
  const inflate = { ratioMax: 10, bytesMax: 1024 * 1024 }
  const cases: [Record<string, string>, Uint8Array, ErrorKind, string][] = [
    [{ 'content-encoding': 'gzip' }, gzipSync(new Uint8Array(4 * 1024 * 1024)), 'TooLarge', 'ratio_cap'],
    [{ 'content-encoding': 'br' }, brotliCompressSync(new Uint8Array(4 * 1024 * 1024)), 'TooLarge', 'ratio_cap'],
    [{ 'content-encoding': 'gzip' }, new Uint8Array(1024 * 1024 + 1), 'TooLarge', 'decompress_cap'],
    [{ 'content-encoding': 'gzip' }, new Uint8Array(100), 'Integrity', 'bad_answer'],
  ]
  for (const [headers, body, kind, code] of cases) {
    await using origin = await OriginServer.http(respondWith(200, headers, body))
    await using transport = guarded(runtime, [`127.0.0.1:${origin.port}`], { inflate })
    const response = await transport.request(get(runtime, origin.url('/').href))
    await assert.rejects(text(response.body), isError(kind, code))
  }
  await using odd = await OriginServer.http(respondWith(200, { 'content-encoding': 'gzip, br' }, 'x'))
  await using transport = guarded(runtime, [`127.0.0.1:${odd.port}`], { inflate })
  await assert.rejects(transport.request(get(runtime, odd.url('/').href)), isError('Integrity', 'bad_answer'))
})

test('the deadline covers the lookup, and closing ends it', async () => {
  await using runtime = realRuntime()
  let asked = 0
  const never: Lookup = {
    addresses: async (_host, options) => {
      asked += 1
      return await new Promise((_resolve, reject) => {
        options?.signal?.addEventListener('abort', () => reject(new CairnError('Canceled', 'stopped looking')))
      })
    },
  }
  const transport = guarded(runtime, [NAME], { lookup: never })
  await assert.rejects(transport.request(get(runtime, `https://${NAME}/`, { ms: 50 })), isError('Timeout', 'timeout'))
  assert.equal(asked, 1)
  await transport.close()
})

test('a host taken from the list is refused at once, although a connection to it is open', async () => {
  await using runtime = realRuntime()
  await using origin = await OriginServer.http(respondWith(200, {}, 'ok'))
  let policy = new UrlPolicy({ allow: [`127.0.0.1:${origin.port}`], devAllowLoopbackHttp: true })
  await using transport = new GuardedTransport(runtime, { lookup: LOOPBACK, policy: () => policy })
  await text((await transport.request(get(runtime, origin.url('/').href))).body)
  policy = new UrlPolicy({ allow: [], devAllowLoopbackHttp: true })
  await assert.rejects(transport.request(get(runtime, origin.url('/').href)), isError('RejectPolicy', 'not_allowed'))
})
