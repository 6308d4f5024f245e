import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { isKind } from '@cairn/kernel'
import { addressOf } from '@cairn/wire'
import { CHUNK, collect, noise } from './bytes.ts'
import { StorageService } from './storage-service.ts'

let service: StorageService
before(async () => {
  service = await StorageService.start()
})
beforeEach(() => {
  service.between = async (_url, _init, pass) => await pass()
  service.takeSentBytes()
})
after(async () => await service[Symbol.asyncDispose]())

test('what was put comes back, at every size around a chunk, a batch and a window', async () => {
  const cairn = service.client()
  for (const size of [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 16 * CHUNK + 5, 64 * CHUNK, 130 * CHUNK + 77]) {
    const bytes = noise(size, size + 1)
    const { address, size: told, newBytes } = await cairn.put(bytes)
    assert.equal(address, addressOf(bytes))
    assert.deepEqual([told, newBytes], [size, size])
    assert.deepEqual(await collect(cairn.get(address)), bytes)
    assert.equal((await cairn.put(bytes)).newBytes, 0)
  }
})

test('every sort of source gives the same address', async () => {
  const cairn = service.client()
  const bytes = noise(3 * CHUNK + 9, 42)
  async function* pieces(): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < bytes.length; at += 10_001) yield bytes.subarray(at, at + 10_001)
  }
  const blob = new Blob([bytes as Uint8Array<ArrayBuffer>])
  for (const source of [bytes, blob, blob.stream() as ReadableStream<Uint8Array>, pieces(), pieces])
    assert.equal((await cairn.put(source)).address, addressOf(bytes))
})

test('64 MiB go up and come down, a few requests at a time', async () => {
  const cairn = service.client()
  const bytes = noise(64 * 1024 * 1024, 3)
  const told: number[] = []
  service.inFlightMost = 0
  const { address } = await cairn.put(bytes, { onProgress: ({ bytes: done }) => told.push(done) })
  assert.ok(service.inFlightMost > 1 && service.inFlightMost <= 4, `${service.inFlightMost} at once`)
  assert.equal(told.at(-1), bytes.length)
  assert.deepEqual(
    told,
    told.toSorted((a, b) => a - b),
  )
  service.inFlightMost = 0
  const read: number[] = []
  const back = await collect(cairn.get(address, { onProgress: ({ bytes: done }) => read.push(done) }))
  assert.ok(service.inFlightMost > 1 && service.inFlightMost <= 4, `${service.inFlightMost} at once`)
  assert.equal(read.at(-1), bytes.length)
  assert.equal(Buffer.compare(back, bytes), 0)
})

test('a chunk that repeats is sent once', async () => {
  const { address, newBytes } = await service.client().put(new Uint8Array(200 * CHUNK).fill(9))
  assert.equal(newBytes, CHUNK)
  assert.equal(service.takeSentBytes(), CHUNK + 4)
  assert.equal((await collect(service.client().get(address))).length, 200 * CHUNK)
})

test('a range brings just the bytes asked for', async () => {
  const cairn = service.client()
  for (const size of [500, 40 * CHUNK + 3]) {
    const bytes = noise(size, 4)
    const { address } = await cairn.put(bytes)
    for (const [first, last] of [
      [0, 0],
      [17, 400],
      [0, size - 1],
      [Math.min(CHUNK, size) - 1, Math.min(CHUNK, size)],
      [size - 1, size + 50],
    ] as const)
      assert.deepEqual(await collect(cairn.get(address, { range: { first, last } })), bytes.slice(first, last + 1))
    assert.deepEqual(await collect(cairn.get(address, { range: { first: 30 } })), bytes.slice(30))
    await assert.rejects(collect(cairn.get(address, { range: { first: size } })), { code: 'range_not_satisfiable' })
    await assert.rejects(collect(cairn.get(address, { range: { first: 2, last: 1 } })), { kind: 'Malformed' })
  }
})

test('what is not there, not allowed or not an address is a typed error', async () => {
  const cairn = service.client()
  const absent = addressOf(noise(10, 99))
  await assert.rejects(collect(cairn.get(absent)), { kind: 'NotFound', status: 404 })
  assert.throws(() => cairn.get('b3:xyz'), { kind: 'Malformed' })
  await assert.rejects(cairn.remove(absent), { kind: 'NotFound' })
  await assert.rejects(service.client({ token: 'AAAA' }).put(noise(10)), { kind: 'Unauthorized' })
})

test('a commit that finds chunks gone is mended once, from a source that can be read again', async () => {
  const bytes = noise(70 * CHUNK, 5)
  // A service that takes the first chunks and forgets them.
  const forgetful = (): void => {
    let isFirst = true
    service.between = async (url, init, pass) => {
      if (url.pathname !== '/c' || !isFirst) return await pass()
      isFirst = false
      const count = countFrames(init.body as Uint8Array)
      return Response.json({ chunks: count, new: count })
    }
  }
  forgetful()
  const { address } = await service.client().put(() => once(bytes))
  assert.equal(service.seen.filter(({ path }) => path.startsWith('/m/')).length, 2)
  assert.deepEqual(await collect(service.client().get(address)), bytes)

  const others = noise(70 * CHUNK, 6)
  forgetful()
  await assert.rejects(service.client().put(once(others)), { kind: 'Conflict', code: 'missing_chunks' })
})

test('a busy service is asked again when it says so, and nothing else is repeated', async () => {
  let refusals = 2
  service.between = async (url, _init, pass) => {
    if (!url.pathname.startsWith('/o') || refusals === 0) return await pass()
    refusals -= 1
    const headers = { 'content-type': 'application/problem+json', 'retry-after': '0' }
    return new Response('{"code":"busy","detail":"Later."}', { status: 429, headers })
  }
  const cairn = service.client()
  const { address } = await cairn.put(noise(100, 7))
  assert.equal(service.seen.length, 3)
  await cairn.remove(address)

  service.between = async () => {
    throw new TypeError('fetch failed')
  }
  service.takeSentBytes()
  await assert.rejects(cairn.remove(address), { kind: 'Timeout', code: 'unreachable' })
  assert.equal(service.seen.length, 1)
})

test('an abort ends a put at once, whatever the source does, and leaves nothing under way', async () => {
  const controller = new AbortController()
  async function* endless(): AsyncGenerator<Uint8Array> {
    yield noise(70 * CHUNK, 8)
    controller.abort()
    await new Promise(() => undefined)
  }
  await assert.rejects(service.client().put(endless(), { signal: controller.signal }), { kind: 'Canceled' })
})

test('a reader that stops ends a get, and an abort errors it', async () => {
  const cairn = service.client()
  const bytes = noise(100 * CHUNK, 10)
  const { address } = await cairn.put(bytes)
  service.takeSentBytes()
  const reader = cairn.get(address).getReader()
  const first = await reader.read()
  assert.deepEqual(first.value, bytes.slice(0, CHUNK))
  await reader.cancel()
  assert.ok(service.seen.length <= 1 + 4, 'no window beyond those ahead')

  const controller = new AbortController()
  const aborted = cairn.get(address, { signal: controller.signal }).getReader()
  await aborted.read()
  controller.abort()
  await assert.rejects(
    async () => {
      while (!(await aborted.read()).done);
    },
    (error) => isKind(error, 'Canceled'),
  )
})

test('objects are listed page by page, and scrubbed', async () => {
  const cairn = service.client()
  const all: string[] = []
  let cursor: Awaited<ReturnType<typeof cairn.list>>['cursor']
  do {
    const page = await cairn.list({ cursor, limit: 3 })
    assert.ok(page.objects.length <= 3)
    all.push(...page.objects.map(({ address }) => address))
    cursor = page.cursor
  } while (cursor !== undefined)
  assert.ok(all.length > 5)
  assert.deepEqual(all, [...new Set(all)].sort())
  assert.deepEqual((await cairn.scrub()).damaged, [])
  assert.deepEqual((await cairn.scrubReport()).damaged, [])
})

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

function countFrames(body: Uint8Array): number {
  const view = new DataView(body.buffer, body.byteOffset)
  let count = 0
  for (let at = 0; at < body.length; at += 4 + view.getUint32(at)) count += 1
  return count
}
