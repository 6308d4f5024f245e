/** Every row of the route table: statuses, headers, problem bodies; on a disk, and in memory alone. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { addressOf } from '@cairn/wire'
import { type Answer, isProblem } from '../../../verify/virtual/answer.ts'
import { noise } from '../../../verify/virtual/noise.ts'
import { type Asking } from '../../../verify/virtual/virtual-service.ts'
import { TestService, tokenFor } from './harness.ts'
import { CHUNK, clientObject, frames } from './objects.ts'

const NOWHERE = addressOf(Buffer.from('nobody stored this'))
const IMMUTABLE = 'public, max-age=31536000, immutable'

for (const disk of ['virtual', 'memory'] as const) {
  describe(disk === 'virtual' ? 'routes on a drive' : 'the same routes in amnesia', () => {
    let service: TestService
    const ask = async (method: string, target: string, asking?: Asking): Promise<Answer> =>
      await service.ask(method, target, asking)

    before(async () => {
      service = await TestService.start({ disk })
    })
    after(async () => {
      await service.stop()
    })

    test('POST /o stores bytes under their address, and says so again without storing them again', async () => {
      const bytes = noise(1000, 1)
      const address = addressOf(bytes)
      const first = await ask('POST', '/o', { body: bytes, headers: { 'content-type': 'image/png' } })
      assert.equal(first.status, 201)
      assert.deepEqual(first.fields(), { address, size: 1000, new: true })
      assert.equal(first.headers['location'], `/o/${address}`)
      assert.equal(first.headers['etag'], `"${address}"`)
      const again = await ask('POST', '/o', { body: bytes, headers: { 'content-type': 'text/html' } })
      assert.equal(again.status, 200)
      assert.deepEqual(again.fields(), { address, size: 1000, new: false })
      const read = await ask('GET', `/o/${address}`)
      assert.equal(read.headers['content-type'], 'image/png', 'the type of the first put')
    })

    test('PUT /o/{b3} takes the bytes of its address and no others', async () => {
      const bytes = noise(3000, 2)
      const address = addressOf(bytes)
      isProblem(await ask('PUT', `/o/${address}`, { body: noise(3000, 3) }), 409, 'conflict')
      isProblem(await ask('GET', `/o/${address}`), 404, 'not_found')
      assert.equal((await ask('PUT', `/o/${address}`, { body: bytes })).status, 201)
      isProblem(await ask('GET', `/c/${addressOf(noise(3000, 3))}`), 404, 'not_found')
      assert.equal((await ask('PUT', `/o/${address}`, { body: bytes })).status, 200)
      isProblem(await ask('PUT', '/o/b3:00', { body: bytes }), 400, 'bad_request')
      isProblem(await ask('PUT', `/o/${address.toUpperCase()}`, { body: bytes }), 400, 'bad_request')
    })

    test('GET and HEAD /o/{b3} answer with proof, and headers that let nobody run it', async () => {
      const bytes = noise(2000, 4)
      const { address } = (await ask('POST', '/o', { body: bytes })).fields()
      for (const attempt of ['cold', 'hot']) {
        const answer = await ask('GET', `/o/${address as string}`, { token: null })
        assert.equal(answer.status, 200, attempt)
        assert.deepEqual(answer.body, bytes)
        const { etag, vary, 'content-length': length } = answer.headers
        assert.deepEqual([etag, vary, length], [`"${address as string}"`, 'Accept-Encoding', '2000'])
        assert.equal(answer.headers['cache-control'], IMMUTABLE)
        assert.equal(answer.headers['accept-ranges'], 'bytes')
        assert.equal(answer.headers['x-content-type-options'], 'nosniff')
        assert.equal(answer.headers['content-security-policy'], "sandbox; default-src 'none'")
        assert.equal(answer.headers['cross-origin-resource-policy'], 'same-origin')
        assert.equal(answer.headers['content-disposition'], 'attachment')
        assert.equal(answer.headers['content-encoding'], undefined)
      }
      const head = await ask('HEAD', `/o/${address as string}`, { headers: { range: 'bytes=0-1' } })
      assert.deepEqual([head.status, head.headers['content-length'], head.body.length], [200, '2000', 0])
      isProblem(await ask('GET', `/o/${NOWHERE}`), 404, 'not_found')
      assert.equal((await ask('HEAD', `/o/${NOWHERE}`)).status, 404)
      isProblem(await ask('GET', '/o/b3:xyz'), 400, 'bad_request')
    })

    test('only inert types are echoed; anything else is a download', async () => {
      const rows: [string, string, boolean][] = [
        ['image/png', 'image/png', false],
        ['image/svg+xml', 'application/octet-stream', true],
        ['text/plain; charset=utf-8', 'text/plain', false],
        ['TEXT/HTML', 'application/octet-stream', true],
        ['application/json', 'application/json', false],
        ['font/woff2', 'font/woff2', false],
        ['video/mp4', 'video/mp4', false],
        ['audio/ogg', 'audio/ogg', false],
        ['application/javascript', 'application/octet-stream', true],
        ['', 'application/octet-stream', true],
      ]
      for (const [at, [sent, served, isDownload]] of rows.entries()) {
        const body = noise(100, 1000 + at)
        await ask('POST', '/o', { body, headers: { 'content-type': sent } })
        const { headers } = await ask('GET', `/o/${addressOf(body)}`)
        assert.deepEqual(
          [headers['content-type'], headers['content-disposition']],
          [served, isDownload ? 'attachment' : undefined],
        )
      }
    })

    test('the empty object is an object', async () => {
      const put = await ask('POST', '/o', { body: '' })
      const { address, size } = put.fields()
      assert.deepEqual([put.status, size, address], [201, 0, addressOf(new Uint8Array(0))])
      const read = await ask('GET', `/o/${address as string}`)
      assert.deepEqual([read.status, read.headers['content-length'], read.body.length], [200, '0', 0])
    })

    test('coded bodies are addressed by what they decode to', async () => {
      const bytes = Buffer.concat([noise(400, 4), Buffer.from('the same words again and again. '.repeat(100))])
      for (const [coding, body] of [
        ['gzip', gzipSync(bytes)],
        ['zstd', zstdCompressSync(bytes)],
      ] as const) {
        const put = await ask('PUT', `/o/${addressOf(bytes)}`, { body, headers: { 'content-encoding': coding } })
        assert.ok(put.status === 200 || put.status === 201, coding)
      }
      const bomb = gzipSync(Buffer.alloc(1024 * 1024))
      isProblem(await ask('POST', '/o', { body: bomb, headers: { 'content-encoding': 'gzip' } }), 413, 'ratio_cap')
      const large = gzipSync(Buffer.concat([noise(900 * 1024, 5), Buffer.alloc(10 * 1024 * 1024)]), { level: 9 })
      const over = await ask('POST', '/o', { body: large, headers: { 'content-encoding': 'gzip' } })
      isProblem(over, 413, large.length * 10 > 10 * 1024 * 1024 ? 'decompress_cap' : 'ratio_cap')
      assert.equal(service.metric('decompress_reject_total', { reason: 'cap' }), 2)
      const odd = await ask('POST', '/o', { body: bytes, headers: { 'content-encoding': 'lzma' } })
      isProblem(odd, 415, 'unsupported_coding')
      assert.equal(odd.headers['accept-encoding'], 'gzip, br, zstd')
      const stream = await ask('POST', '/o?stream', { body: gzipSync(bytes), headers: { 'content-encoding': 'gzip' } })
      isProblem(stream, 415, 'unsupported_coding')
    })

    test('more than max_body_bytes needs ?stream', async () => {
      const bytes = noise(1024 * 1024 + 1, 6)
      isProblem(await ask('POST', '/o', { body: bytes }), 413, 'payload_too_large')
      const put = await ask('POST', '/o?stream', { body: bytes })
      assert.deepEqual([put.status, put.fields()['address']], [201, addressOf(bytes)])
      assert.equal((await ask('PUT', `/o/${addressOf(bytes)}?stream`, { body: bytes })).status, 200)
      assert.deepEqual((await ask('GET', `/o/${addressOf(bytes)}`)).body, bytes)
      isProblem(await ask('PUT', `/o/${NOWHERE}?stream`, { body: bytes }), 409, 'conflict')
      isProblem(await ask('GET', `/o/${NOWHERE}`), 404, 'not_found')
      isProblem(await ask('POST', '/o?strean', { body: 'x' }), 400, 'bad_request')
    })

    test('chunks: missing, PUT, POST of many, GET and HEAD', async () => {
      const object = clientObject(3 * CHUNK + 5, 7)
      const ids = object.chunks.map(({ id }) => id)
      const asked = await ask('POST', '/c/missing?upload=u1', json({ ids }))
      assert.deepEqual([asked.status, asked.fields()], [200, { missing: ids, upload: 'u1' }])
      const [first] = object.chunks
      assert.equal((await ask('PUT', `/c/${ids[0]}?upload=u1`, { body: first!.bytes })).status, 201)
      assert.deepEqual((await ask('PUT', `/c/${ids[0]}`, { body: first!.bytes })).fields(), {
        address: ids[0],
        new: false,
      })
      isProblem(await ask('PUT', `/c/${ids[1]}`, { body: first!.bytes }), 409, 'conflict')
      isProblem(await ask('PUT', `/c/${ids[1]}`, { body: Buffer.alloc(1024 * 1024 + 1) }), 413, 'payload_too_large')
      const many = await ask('POST', '/c?upload=u1', { body: frames(object.chunks.map(({ bytes }) => bytes)) })
      assert.deepEqual([many.status, many.fields()], [200, { chunks: 4, new: 3 }])
      assert.deepEqual((await ask('POST', '/c/missing', json({ ids }))).fields()['missing'], [])
      for (const attempt of ['cold', 'hot']) {
        const read = await ask('GET', `/c/${ids[3]}`, { token: null })
        assert.deepEqual([read.status, read.body], [200, object.chunks[3]!.bytes], attempt)
        assert.equal(read.headers['cache-control'], IMMUTABLE)
        assert.equal(read.headers['etag'], `"${ids[3]}"`)
      }
      const head = await ask('HEAD', `/c/${ids[3]}`)
      assert.deepEqual([head.status, head.headers['content-length'], head.body.length], [200, '5', 0])
      isProblem(await ask('GET', `/c/${NOWHERE}`), 404, 'not_found')
      isProblem(await ask('POST', '/c/missing', json({ ids: Array(8193).fill(NOWHERE) })), 400, 'bad_request')
      isProblem(
        await ask('POST', '/c/missing', { body: '{}', headers: { 'content-type': 'text/plain' } }),
        415,
        'unsupported_type',
      )
      isProblem(await ask('POST', '/c/missing?upload=a.b', json({ ids: [] })), 400, 'bad_request')
    })

    test('manifests: commit, read back, refuse one chunk', async () => {
      const object = clientObject(2 * CHUNK + 9, 8)
      await ask('POST', '/c?upload=u2', { body: frames(object.chunks.slice(1).map(({ bytes }) => bytes)) })
      const incomplete = await ask('PUT', `/m/${object.id}?upload=u2`, { body: object.encoded })
      isProblem(incomplete, 409, 'missing_chunks')
      assert.deepEqual(incomplete.fields()['missing'], [object.chunks[0]!.id])
      isProblem(await ask('GET', `/o/${object.id}`), 404, 'not_found')
      await ask('PUT', `/c/${object.chunks[0]!.id}?upload=u2`, { body: object.chunks[0]!.bytes })
      const headers = { 'x-object-type': 'video/mp4' }
      const done = await ask('PUT', `/m/${object.id}?upload=u2`, { body: object.encoded, headers })
      assert.deepEqual(
        [done.status, done.fields()],
        [201, { address: object.id, size: object.bytes.length, new: true }],
      )
      assert.equal((await ask('PUT', `/m/${object.id}`, { body: object.encoded })).status, 200)
      const read = await ask('GET', `/o/${object.id}`)
      assert.deepEqual([read.body, read.headers['content-type']], [object.bytes, 'video/mp4'])
      const manifest = await ask('GET', `/m/${object.id}`, { token: null })
      assert.deepEqual([manifest.status, manifest.body], [200, Buffer.from(object.encoded)])
      assert.equal(manifest.headers['content-type'], 'application/vnd.ipld.dag-cbor')
      const small = (await ask('POST', '/o', { body: 'one chunk' })).fields()['address'] as string
      isProblem(await ask('GET', `/m/${small}`), 404, 'single_chunk')
      isProblem(await ask('GET', `/m/${NOWHERE}`), 404, 'not_found')
      isProblem(await ask('PUT', `/m/${object.id}`, { body: 'nonsense' }), 400, 'bad_request')
    })

    test('DELETE /o and the references that forbid it', async () => {
      const { address } = (await ask('POST', '/o', { body: 'held by somebody' })).fields() as { address: string }
      assert.equal((await ask('PUT', `/refs/mailbox/${address}`)).status, 204)
      assert.equal((await ask('PUT', `/refs/mailbox/${address}`)).status, 204)
      isProblem(await ask('DELETE', `/o/${address}`), 409, 'referenced')
      assert.equal((await ask('DELETE', `/refs/registry/${address}`)).status, 204, 'was not held by that one')
      isProblem(await ask('DELETE', `/o/${address}`), 409, 'referenced')
      assert.equal((await ask('DELETE', `/refs/mailbox/${address}`)).status, 204)
      assert.equal((await ask('DELETE', `/o/${address}`)).status, 204)
      isProblem(await ask('GET', `/o/${address}`), 404, 'not_found')
      isProblem(await ask('DELETE', `/o/${address}`), 404, 'not_found')
      isProblem(await ask('PUT', `/refs/mailbox/${address}`), 404, 'not_found')
      for (const owner of ['x'.repeat(129), '%C2%84'])
        for (const method of ['PUT', 'DELETE'])
          isProblem(await ask(method, `/refs/${owner}/${address}`), 400, 'bad_request')
    })

    test('PUT /o with a hold: stored and held at once, with both scopes', async () => {
      const body = 'held from the first moment'
      const address = addressOf(Buffer.from(body))
      const target = `/o/${address}?hold=interop`
      isProblem(await ask('PUT', target, { body, token: tokenFor(['storage:write']) }), 403, 'scope_missing')
      isProblem(await ask('PUT', target, { body, token: tokenFor(['storage:hold']) }), 403, 'scope_missing')
      isProblem(await ask('PUT', `/o/${address}?hold=`, { body }), 400, 'bad_request')
      isProblem(await ask('GET', `/o/${address}`), 404, 'not_found')
      const token = tokenFor(['storage:write', 'storage:hold'])
      assert.equal((await ask('PUT', target, { body, token })).status, 201)
      assert.equal((await ask('PUT', target, { body, token })).status, 200)
      isProblem(await ask('DELETE', `/o/${address}`), 409, 'referenced')
      assert.equal((await ask('DELETE', `/refs/interop/${address}`)).status, 204)
      assert.equal((await ask('DELETE', `/o/${address}`)).status, 204)
    })

    test('admin: objects page by page, durability, scrub, repair', async () => {
      const seen: string[] = []
      let cursor: string | null = null
      do {
        const page = await ask('GET', `/admin/objects?limit=3${cursor === null ? '' : `&cursor=${cursor}`}`)
        assert.equal(page.status, 200)
        const body = page.fields() as { objects: { address: string }[]; cursor: string | null }
        assert.ok(body.objects.length <= 3)
        seen.push(...body.objects.map(({ address }) => address))
        cursor = body.cursor
      } while (cursor !== null)
      assert.deepEqual(seen, [...new Set(seen)].sort())
      assert.ok(seen.length > 10)
      isProblem(await ask('GET', '/admin/objects?limit=0'), 400, 'bad_request')
      const begun = await ask('POST', '/admin/scrub')
      assert.equal(begun.status, 202)
      await service.sleep(60_000)
      const report = (await ask('GET', '/admin/durability')).fields()
      assert.deepEqual(
        [report['target_copies'], report['observed_copies'], report['objects']],
        [1, 1, { sound: seen.length, damaged: 0 }],
      )
      const { coverage, state, damaged_count: damaged } = report['scrub'] as Record<string, unknown>
      assert.deepEqual([coverage, state, damaged], [1, 'waiting', 0])
      assert.deepEqual((await ask('POST', '/admin/repair')).fields(), { queued: true })
      const one = await ask('POST', '/admin/repair', json({ address: seen[0] }))
      assert.deepEqual([one.status, one.fields()], [202, { queued: true }])
      isProblem(await ask('POST', '/admin/repair', json({ address: NOWHERE })), 404, 'not_found')
    })

    test('writes and admin need their own scope, reads none', async () => {
      const { address } = (await ask('POST', '/o', { body: 'whose' })).fields() as { address: string }
      const rows: [string, string, Parameters<typeof tokenFor>[0][number]][] = [
        ['POST', '/o', 'storage:write'],
        ['PUT', `/o/${address}`, 'storage:write'],
        ['POST', '/c', 'storage:write'],
        ['POST', '/c/missing', 'storage:write'],
        ['PUT', `/c/${address}`, 'storage:write'],
        ['PUT', `/m/${address}`, 'storage:write'],
        ['DELETE', `/o/${address}`, 'storage:delete'],
        ['PUT', `/refs/a/${address}`, 'storage:hold'],
        ['DELETE', `/refs/a/${address}`, 'storage:hold'],
        ['GET', '/admin/objects', 'storage:admin'],
        ['GET', '/admin/durability', 'storage:admin'],
        ['POST', '/admin/repair', 'storage:admin'],
        ['POST', '/admin/scrub', 'storage:admin'],
        ['GET', '/events', 'events:read'],
      ]
      const all = ['storage:write', 'storage:delete', 'storage:hold', 'storage:admin', 'events:read'] as const
      for (const [method, target, scope] of rows) {
        const none = await ask(method, target, { token: null })
        isProblem(none, 401, 'token_missing')
        assert.match(none.headers['www-authenticate'] ?? '', /^Bearer /)
        const others = tokenFor(all.filter((each) => each !== scope))
        isProblem(await ask(method, target, { token: others }), 403, 'scope_missing')
      }
      for (const target of [`/o/${address}`, `/c/${address}`])
        assert.equal((await ask('GET', target, { token: null })).status, 200)
    })

    test('what is not in the table is not served', async () => {
      isProblem(await ask('GET', '/nothing'), 404, 'not_found')
      const method = await ask('PATCH', `/o/${NOWHERE}`)
      isProblem(method, 405, 'method_not_allowed')
      assert.match(method.headers['allow'] ?? '', /GET.*PUT|PUT.*GET/)
      isProblem(await ask('GET', `/o/${NOWHERE}`, { headers: { host: 'elsewhere.example' } }), 421, 'misdirected')
    })

    test('ops routes say what is true', async () => {
      const ready = await ask('GET', '/readyz', { token: null })
      assert.equal(ready.status, 200)
      const conditions = Object.keys(ready.fields()['conditions'] as object).sort()
      assert.deepEqual(conditions, ['listener_bound', 'store_writable'])
      for (const path of ['/healthz', '/version', '/metrics', '/debug/topology'])
        assert.equal((await ask('GET', path, { token: null })).status, 200, path)
    })
  })
}

test('closed reads ask for a capability on /o, /c and /m, and are not kept by shared caches', async () => {
  const service = await TestService.start({ config: { auth: { read_requires_capability: true } } })
  const object = clientObject(2 * CHUNK, 11)
  await service.ask('POST', '/o?stream', { body: object.bytes })
  const reader = tokenFor(['storage:write'], [{ kind: 'method', methods: ['GET', 'HEAD'] }])
  const targets = [`/o/${object.id}`, `/c/${object.chunks[0]!.id}`, `/m/${object.id}`]
  for (const target of targets) {
    isProblem(await service.ask('GET', target, { token: null }), 401, 'token_missing')
    const read = await service.ask('GET', target, { token: reader })
    assert.deepEqual([read.status, read.headers['cache-control']], [200, 'private, no-cache'], target)
    assert.equal(read.headers['cross-origin-resource-policy'], 'same-origin')
  }
  isProblem(await service.ask('POST', '/c/missing', { ...json({ ids: [] }), token: null }), 401, 'token_missing')
  isProblem(await service.ask('POST', '/o', { body: 'x', token: reader }), 403, 'caveat_method')
  await service.stop()
})

test('a small object in memory goes out in one write, without queue or disk', async () => {
  const service = await TestService.start()
  const bytes = noise(5000)
  await service.ask('POST', '/o', { body: bytes })
  // What is read twice is kept.
  await service.ask('GET', `/o/${addressOf(bytes)}`)
  for (const range of [undefined, 'bytes=10-19']) {
    await service.ask('GET', `/o/${addressOf(bytes)}`)
    const calls = service.machine.calls
    const asked = service.begin('GET', `/o/${addressOf(bytes)}`, range === undefined ? {} : { headers: { range } })
    await service.world.clock.settle()
    const { body, held } = await asked
    assert.ok(body instanceof Uint8Array && held !== undefined)
    assert.deepEqual(Buffer.from(body), range === undefined ? bytes : bytes.subarray(10, 20))
    held[Symbol.dispose]()
    assert.equal(service.machine.calls, calls, 'the machine was not asked')
  }
  assert.equal(service.metric('chunks_read_total', { tier: 'memory' }), 3)
  await service.stop()
})

test('a stream that says it is too large is refused before it is read', async () => {
  const service = await TestService.start({ config: { limits: { max_object_bytes: '100KiB' } } })
  const pulled = { count: 0 }
  const body = (async function* () {
    pulled.count += 1
    yield await Promise.resolve(noise(1024))
  })()
  const answer = await service.ask('POST', '/o?stream', { body, headers: { 'content-length': '204800' } })
  isProblem(answer, 413, 'payload_too_large')
  assert.equal(pulled.count, 0)
  await service.stop()
})

test('the bound on streamed objects is live', async () => {
  const service = await TestService.start({ config: { limits: { max_object_bytes: '100KiB' } } })
  const bytes = noise(150 * 1024)
  isProblem(await service.ask('POST', '/o?stream', { body: bytes }), 413, 'payload_too_large')
  const unsized = (async function* () {
    for (let at = 0; at < 150; at += 1) yield await Promise.resolve(bytes.subarray(at * 1024, (at + 1) * 1024))
  })()
  isProblem(await service.ask('POST', '/o?stream', { body: unsized }), 413, 'payload_too_large')
  const { current } = service.config
  service.config.swap({ values: { ...current, limits: { max_object_bytes: 1024 * 1024 } }, origins: {} })
  assert.equal((await service.ask('POST', '/o?stream', { body: bytes })).status, 201)
  await service.stop()
})

function json(value: unknown): Asking {
  return { body: JSON.stringify(value), headers: { 'content-type': 'application/json' } }
}
