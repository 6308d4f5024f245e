import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { addressOf } from '@cairn/wire'
import { isProblem } from '../../../verify/virtual/answer.ts'
import { TestService, tokenFor } from './harness.ts'

const CHUNK = 64 * 1024
const FOOBAR = 'b3:aa51dcd43d5c6c5203ee16906fd6b35db298b9b2e1de3fce81811d4806b76b7d'

test('a JSON put stores the decoded payload, and is audited before its 202', async () => {
  const service = await TestService.start()
  const answer = await service.ask('POST', '/put', { body: { payload: 'Zm9vYmFy', meta: { type: 'text/plain' } } })
  assert.equal(answer.status, 202)
  assert.equal(answer.fields()['address'], FOOBAR)
  const audit = (await service.ask('GET', '/audit')).fields()
  const [line] = (audit['lines'] as string[]).map((text) => JSON.parse(text) as Record<string, unknown>)
  assert.deepEqual([line!['decision'], line!['action'], line!['b3']], ['allow', 'put', FOOBAR])
  const read = await service.ask('GET', `/o/${FOOBAR}`, { token: null })
  assert.equal(`${read.status} ${read.body.toString()}`, '200 foobar')
  await service.stop()
})

test('a put asks for its capability', async () => {
  const service = await TestService.start()
  const body = { payload: 'Zm9vYmFy' }
  isProblem(await service.ask('POST', '/put', { body, token: null }), 401, 'UNAUTH')
  isProblem(await service.ask('POST', '/put', { body, token: tokenFor(['audit:read']) }), 403, 'SCOPE_MISMATCH')
  isProblem(await service.ask('POST', '/put', { body, token: tokenFor(['interop:put'], 1) }), 401, 'EXPIRED_TOKEN')
  assert.equal((await service.ask('POST', '/put', { body, token: tokenFor(['interop:put']) })).status, 202)
  await service.stop()
})

test('what is not { payload } in base64 is refused, and told why', async () => {
  const service = await TestService.start()
  const json = { 'content-type': 'application/json' }
  for (const body of [
    '{',
    '[]',
    '{"payload":1}',
    '{"payload":"a"}',
    '{"payload":"","other":1}',
    '{"payload":"Zm9vYmF5="}',
  ]) {
    isProblem(await service.ask('POST', '/put', { body, headers: json }), 400, 'MALFORMED')
  }
  await service.stop()
})

test('JSON over 1 MiB is 413, a bomb is 400 DECOMP_LIMIT, an honest coding is opened', async () => {
  const service = await TestService.start()
  const json = { 'content-type': 'application/json' }
  const large = JSON.stringify({ payload: 'A'.repeat(1024 * 1024) })
  isProblem(await service.ask('POST', '/put', { body: large, headers: json }), 413, 'BODY_LIMIT')
  const bomb = gzipSync(Buffer.alloc(4 * 1024 * 1024))
  isProblem(
    await service.ask('POST', '/put', { body: bomb, headers: { ...json, 'content-encoding': 'gzip' } }),
    400,
    'DECOMP_LIMIT',
  )
  const honest = gzipSync(JSON.stringify({ payload: 'Zm9vYmFy' }))
  const answer = await service.ask('POST', '/put', { body: honest, headers: { ...json, 'content-encoding': 'gzip' } })
  assert.equal(answer.fields()['address'], FOOBAR)
  await service.stop()
})

test('a streamed put of any size has the address of its bytes, with two chunks in memory at most', async () => {
  const service = await TestService.start()
  service.storage.latencyMs = 3
  const headers = { 'content-type': 'application/octet-stream', 'transfer-encoding': 'chunked' }
  for (const size of [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 5 * CHUNK + 17]) {
    const bytes = Buffer.alloc(size, 7).map((_byte, index) => index % 251)
    const answer = await service.ask('POST', '/put', { headers, body: pieces(bytes, 10_007) })
    assert.equal(answer.status, 202, answer.body.toString())
    assert.equal(answer.fields()['address'], addressOf(bytes), `${size} bytes`)
  }
  assert.equal(service.storage.underWayMax, 1)
  // Two buffers take turns, however long the stream is.
  service.storage.buffers.clear()
  await service.ask('POST', '/put', { headers, body: pieces(Buffer.alloc(40 * CHUNK, 9), 100_000) })
  assert.equal(service.storage.buffers.size, 2)
  assert.ok(service.metric('stream_chunks_total', { route: '/put' }) > 10)
  await service.stop()
})

test('a streamed put past its bound is 413 and leaves no object', async () => {
  const service = await TestService.start({ config: { limits: { max_put_bytes: '128KiB' } } })
  const headers = { 'content-type': 'application/octet-stream' }
  const stream = pieces(Buffer.alloc(3 * CHUNK), 1000)
  isProblem(
    await service.ask('POST', '/put', { headers: { ...headers, 'transfer-encoding': 'chunked' }, body: stream }),
    413,
    'BODY_LIMIT',
  )
  isProblem(await service.ask('POST', '/put', { headers, body: Buffer.alloc(3 * CHUNK) }), 413, 'BODY_LIMIT')
  assert.equal(service.storage.objects.size + service.storage.manifests.size, 0)
  await service.stop()
})

test('reads go through to storage with their conditions, and say of it only what is about the bytes', async () => {
  const service = await TestService.start()
  await service.ask('POST', '/put', { body: { payload: 'Zm9vYmFy' } })
  const read = await service.ask('GET', `/o/${FOOBAR}`, {
    token: null,
    headers: { range: 'bytes=0-1', 'if-range': '"x"', cookie: 'a=b' },
  })
  assert.deepEqual(service.storage.opened.at(-1), { range: 'bytes=0-1', 'if-range': '"x"' })
  assert.equal(read.headers['etag'], `"${FOOBAR}"`)
  assert.equal(read.headers['x-secret'], undefined)
  assert.equal((await service.ask('GET', `/o/${FOOBAR}`, { headers: { 'if-none-match': '*' } })).status, 304)
  const head = await service.ask('HEAD', `/o/${FOOBAR}`)
  assert.equal(`${head.status} ${head.headers['content-length']} ${head.body.length}`, '200 6 0')
  isProblem(await service.ask('GET', `/o/b3:${'0'.repeat(64)}`), 404, 'not_found')
  isProblem(await service.ask('GET', '/o/b3:deadbeef'), 400, 'MALFORMED')
  await service.stop()
})

async function* pieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield await Promise.resolve(bytes.subarray(at, at + size))
}
