/** Clients, peers and drives that lie: never a byte that is not the object's, and nothing half-written to be seen. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CairnError } from '@cairn/kernel'
import { addressOf, createManifest, encodeManifest } from '@cairn/wire'
import { type Answer, isProblem } from '../../../verify/virtual/answer.ts'
import { noise } from '../../../verify/virtual/noise.ts'
import { VirtualWorld } from '../../../verify/virtual/world.ts'
import { brokenBy, TestService } from './harness.ts'
import { CHUNK, type ClientObject, clientObject, clientObjectOf, frames } from './objects.ts'

async function upload(service: TestService, { chunks }: ClientObject): Promise<void> {
  assert.equal((await service.ask('POST', '/c', { body: frames(chunks.map(({ bytes }) => bytes)) })).status, 200)
}

async function isUnseen(service: TestService, id: string): Promise<void> {
  isProblem(await service.ask('GET', `/o/${id}`), 404, 'not_found')
  const listed = (await service.ask('GET', '/admin/objects')).fields() as { objects: { address: string }[] }
  assert.ok(!listed.objects.some(({ address }) => address === id))
}

test('a manifest that names the right chunks in another order is refused', async () => {
  const service = await TestService.start()
  const object = clientObject(3 * CHUNK)
  await upload(service, object)
  const swapped = object.manifest.chunkIds.slice()
  swapped.set(object.manifest.chunkIds.subarray(0, 32), 32)
  swapped.set(object.manifest.chunkIds.subarray(32, 64), 0)
  const forged = encodeManifest({ ...object.manifest, chunkIds: swapped })
  isProblem(await service.ask('PUT', `/m/${object.id}`, { body: forged }), 409, 'chunk_mismatch')
  await isUnseen(service, object.id)
  await service.stop()
})

test('a manifest with chunks of another object is refused', async () => {
  const service = await TestService.start()
  const [object, other] = [clientObject(3 * CHUNK, 1), clientObject(3 * CHUNK, 2)]
  await upload(service, other)
  const forged = encodeManifest({ ...object.manifest, chunkIds: other.manifest.chunkIds })
  isProblem(await service.ask('PUT', `/m/${object.id}`, { body: forged }), 409, 'chunk_mismatch')
  await isUnseen(service, object.id)
  await service.stop()
})

test('a manifest that says another length than its last chunk has is refused', async () => {
  const service = await TestService.start()
  const object = clientObject(2 * CHUNK + 100)
  await upload(service, object)
  for (const size of [2 * CHUNK + 99, 2 * CHUNK + 101, 3 * CHUNK]) {
    const forged = encodeManifest({ ...object.manifest, size })
    isProblem(await service.ask('PUT', `/m/${object.id}`, { body: forged }), 409, 'chunk_mismatch')
  }
  await isUnseen(service, object.id)
  await service.stop()
})

test('a manifest of another address, or whose values do not fold to it, is a conflict', async () => {
  const service = await TestService.start()
  const [object, other] = [clientObject(2 * CHUNK, 1), clientObject(2 * CHUNK, 2)]
  await upload(service, object)
  isProblem(await service.ask('PUT', `/m/${other.id}`, { body: object.encoded }), 409, 'conflict')
  const { size, chunkSize, chunkIds } = object.manifest
  const bent = createManifest({ size, chunkSize, chunkIds, chainingValues: other.manifest.chainingValues })
  isProblem(await service.ask('PUT', `/m/${object.id}`, { body: encodeManifest(bent) }), 409, 'conflict')
  for (const id of [object.id, other.id]) await isUnseen(service, id)
  await service.stop()
})

test('a manifest that is not canonical, cut short or too long is malformed', async () => {
  const service = await TestService.start()
  const object = clientObject(2 * CHUNK)
  await upload(service, object)
  const long = Buffer.concat([object.encoded, Buffer.of(0)])
  for (const body of [object.encoded.subarray(0, -1), long, object.encoded.subarray(1), Buffer.alloc(0)])
    isProblem(await service.ask('PUT', `/m/${object.id}`, { body }), 400, 'bad_request')
  await isUnseen(service, object.id)
  await service.stop()
})

test('bytes sent as another chunk are refused and not stored', async () => {
  const service = await TestService.start()
  const { chunks } = clientObject(2 * CHUNK)
  isProblem(await service.ask('PUT', `/c/${chunks[0]!.id}`, { body: chunks[1]!.bytes }), 409, 'conflict')
  for (const { id } of chunks) isProblem(await service.ask('GET', `/c/${id}`), 404, 'not_found')
  await service.stop()
})

test('bad frames are refused; whole frames before them are ordinary chunks', async () => {
  const service = await TestService.start()
  const good = frames([noise(10, 1)])
  const zero = Buffer.alloc(4)
  const huge = Buffer.from([0, 0x10, 0, 1])
  for (const bad of [zero, huge, Buffer.from([0, 0]), Buffer.from([0, 0, 0, 9, 1, 2])])
    isProblem(await service.ask('POST', '/c', { body: Buffer.concat([good, bad]) }), 400, 'bad_frame')
  assert.deepEqual((await service.ask('POST', '/c', { body: '' })).fields(), { chunks: 0, new: 0 })
  await service.stop()
})

test('a client that vanishes in the middle of a stream leaves no object, and its chunks are swept after the lease', async () => {
  const service = await TestService.start()
  const bytes = noise(5 * CHUNK)
  const gone = new AbortController()
  const body = (async function* () {
    yield await Promise.resolve(bytes.subarray(0, 3 * CHUNK))
    gone.abort()
    throw new CairnError('Canceled', 'the client went away')
  })()
  const answer = await service.ask('POST', '/o?stream', { body, signal: gone.signal })
  assert.ok(answer.status >= 400)
  await isUnseen(service, addressOf(bytes))
  await isUnseen(service, addressOf(bytes.subarray(0, 3 * CHUNK)))
  const ids = [0, 1, 2].map((at) => addressOf(bytes.subarray(at * CHUNK, (at + 1) * CHUNK)))
  await service.ask('POST', '/o', { body: 'a put that syncs what was written before it' })
  assert.equal((await service.ask('GET', `/c/${ids[0]}`)).status, 200, 'kept for a client that comes back')
  await service.sleep(3_600_000 + 200_000)
  for (const id of ids) isProblem(await service.ask('GET', `/c/${id}`), 404, 'not_found')
  assert.equal(service.metric('swept_chunks_total'), 3)
  await service.stop()
})

/** Flips a bit of the first segment. Records follow its header, and the first are the chunks of the first object. */
function rot(service: TestService, at: number): void {
  const { drive } = service.machine
  const [segment] = drive.list('data/storage/journal')
  assert.ok(segment)
  drive.damage(`data/storage/journal/${segment.name}`, at * 8)
}

async function damagedObject(
  chunks: number,
  world = new VirtualWorld(1),
): Promise<{ service: TestService; bytes: Buffer; answer: Answer }> {
  const service = await TestService.start({ config: { cache_bytes: 0 } }, world)
  const bytes = noise(chunks * CHUNK - 50, 5)
  await service.ask('POST', '/o?stream', { body: bytes })
  // In the last chunk of the object; what comes before it is sound.
  rot(service, 4096 + (chunks - 1) * (CHUNK + 80) + 300)
  const answer = await service.ask('GET', `/o/${addressOf(bytes)}`)
  return { service, bytes, answer }
}

test('a damaged chunk at the start of an answer is 502, counted, and in urgent repair', async () => {
  const { service, bytes, answer } = await damagedObject(1)
  isProblem(answer, 502, 'integrity')
  assert.equal(service.metric('integrity_fail_total', { reason: 'checksum' }), 1)
  assert.equal(service.metric('repair_bytes_total', { phase: 'planned' }), CHUNK)
  await service.sleep(10)
  assert.equal(service.metric('repair_skipped_total', { reason: 'no_copy' }), 1, 'there is nothing to repair it from')
  isProblem(await service.ask('GET', `/o/${addressOf(bytes)}`), 502, 'integrity')
  isProblem(await service.ask('GET', `/c/${addressOf(bytes)}`), 502, 'integrity')
  const again = await service.ask('PUT', `/o/${addressOf(bytes)}`, { body: bytes })
  assert.deepEqual([again.status, again.fields()['new']], [200, false])
  assert.ok((await service.ask('GET', `/o/${addressOf(bytes)}`)).body.equals(bytes), 'put again, it is whole again')
  await service.stop()
})

test('an object that had lost a chunk and is put again is whole after a power cut, once that is told', async () => {
  for (const seed of [1, 2]) {
    const { service, bytes, answer } = await damagedObject(2, new VirtualWorld(seed))
    isProblem(answer, 502, 'integrity')
    const again = await service.ask('PUT', `/o/${addressOf(bytes)}`, { body: bytes })
    assert.deepEqual([again.status, again.fields()['new']], [200, false])
    service.machine.crash()
    const after = await TestService.start({}, service.world, service.machine)
    assert.ok((await after.ask('GET', `/o/${addressOf(bytes)}`)).body.equals(bytes), `seed ${seed}`)
    await after.stop()
  }
})

test('so it is if it is put again in chunks of another size, and it can be read meanwhile as far as it is sound', async () => {
  for (const seed of [1, 2]) {
    const { service, bytes } = await damagedObject(3, new VirtualWorld(seed))
    const target = `/o/${addressOf(bytes)}`
    const { id, chunks, encoded } = clientObjectOf(bytes, CHUNK / 2)
    await service.ask('POST', '/c?upload=u', { body: frames(chunks.map((chunk) => chunk.bytes)) })
    const state = { isOver: false, first: 0 }
    const reader = async (): Promise<void> => {
      while (!state.isOver) {
        const { status } = await service.send('GET', target, { headers: { range: 'bytes=0-99' } })
        state.first += 1
        assert.equal(status, 206)
        await service.world.sleep(0.05)
      }
    }
    const writer = async (): Promise<void> => {
      const { status } = await service.send('PUT', `/m/${id}?upload=u`, { body: encoded })
      state.isOver = true
      assert.equal(status, 200)
    }
    await service.world.run(Promise.all([reader(), writer()]).then(() => undefined))
    assert.ok(state.first > 5)
    service.machine.crash()
    const after = await TestService.start({}, service.world, service.machine)
    assert.ok((await after.ask('GET', target)).body.equals(bytes), `seed ${seed}`)
    await after.stop()
  }
})

test('a damaged chunk in the middle of an answer ends the connection after sound bytes only', async () => {
  const { service, bytes, answer } = await damagedObject(40)
  assert.equal(answer.status, 200)
  assert.ok(brokenBy(answer, 'Integrity'))
  assert.ok(answer.body.length >= 1024 * 1024 && answer.body.length < bytes.length)
  assert.ok(answer.body.equals(bytes.subarray(0, answer.body.length)))
  await service.stop()
})

test('a damaged chunk found by a commit is asked for again', async () => {
  const service = await TestService.start({ config: { cache_bytes: 0 } })
  const object = clientObject(2 * CHUNK)
  await upload(service, object)
  rot(service, 4096 + 500)
  const refused = await service.ask('PUT', `/m/${object.id}`, { body: object.encoded })
  isProblem(refused, 409, 'missing_chunks')
  assert.equal((refused.fields()['missing'] as string[]).length, 1)
  await upload(service, object)
  assert.equal((await service.ask('PUT', `/m/${object.id}`, { body: object.encoded })).status, 201)
  assert.ok((await service.ask('GET', `/o/${object.id}`)).body.equals(object.bytes))
  await service.stop()
})

test('the scrub finds what rots, says which objects it is in, and never calls them sound', async () => {
  const service = await TestService.start({ config: { cache_bytes: 0 } })
  const bytes = noise(3 * CHUNK, 5)
  await service.ask('POST', '/o?stream', { body: bytes })
  await service.ask('POST', '/o', { body: 'sound' })
  rot(service, 4096 + 500)
  await service.sleep(1000)
  await service.ask('POST', '/admin/scrub')
  await service.sleep(60_000)
  const { objects, observed_copies: copies, scrub } = (await service.ask('GET', '/admin/durability')).fields()
  assert.deepEqual([objects, copies], [{ sound: 1, damaged: 1 }, 0])
  assert.equal((scrub as { damaged_count: number }).damaged_count, 1)
  assert.equal(service.metric('scrub_chunks_total', { result: 'damaged' }), 1)
  await service.stop()
})

test('a scrub that is asked for while the end of the last one is written down is made', async () => {
  const service = await TestService.start({ config: { cache_bytes: 0 } })
  const { scrubs } = service.parts
  await service.sleep(1000)
  const first = scrubs.report().completed_at
  service.machine.faults.slowness = 1000
  await service.ask('POST', '/admin/scrub')
  while (scrubs.report().completed_at === first) await service.sleep(1)
  const second = scrubs.report().completed_at
  service.machine.faults.slowness = 1
  assert.equal((await service.ask('POST', '/admin/scrub')).status, 202)
  await service.sleep(10_000)
  assert.notEqual(scrubs.report().completed_at, second)
  await service.stop()
})

test('a scrub that was asked for is made, also if the drive fails in the middle of it', async () => {
  const service = await TestService.start({ config: { cache_bytes: 0 } })
  await service.ask('POST', '/o?stream', { body: noise(3 * CHUNK, 5) })
  await service.sleep(1000)
  const before = service.parts.scrubs.report()
  service.machine.faults.plan({ operation: 'read', path: /journal/, nth: 2, fault: 'io-error' })
  await service.ask('POST', '/admin/scrub')
  await service.sleep(60_000)
  const { read, completed_at: completedAt } = service.parts.scrubs.report()
  assert.equal(read, 4, 'three chunks and their list')
  assert.notEqual(completedAt, before.completed_at)
  await service.stop()
})
