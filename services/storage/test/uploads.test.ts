/** The chunk protocol as clients use it: nothing is sent twice, nothing needed is swept, nothing deleted comes back. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Address, addressOf } from '@cairn/wire'
import { isProblem } from '../../../verify/virtual/answer.ts'
import { noise } from '../../../verify/virtual/noise.ts'
import { windowsOf } from '../src/objects/window-core.ts'
import { TestService } from './harness.ts'
import { CHUNK, type ClientObject, clientObject, clientObjectOf, frames } from './objects.ts'

const HOUR_MS = 3_600_000
const CORR_ID = '01JC5S3N6Q8R9T0V1W2X3Y4Z5A'
const json = (value: unknown) => ({ body: JSON.stringify(value), headers: { 'content-type': 'application/json' } })

async function missing(service: TestService, { chunks }: ClientObject, upload: string): Promise<Address[]> {
  const ids = chunks.map(({ id }) => id)
  const answer = await service.ask('POST', `/c/missing?upload=${upload}`, json({ ids }))
  return answer.fields()['missing'] as Address[]
}

async function send(service: TestService, { chunks }: ClientObject, ids: readonly Address[], upload: string) {
  const wanted = chunks.filter(({ id }) => ids.includes(id)).map(({ bytes }) => bytes)
  return await service.ask('POST', `/c?upload=${upload}`, { body: frames(wanted) })
}

test('an upload that was interrupted goes on with what is missing, and with nothing else', async () => {
  const service = await TestService.start()
  const object = clientObject(10 * CHUNK)
  const sent = object.chunks.slice(0, 6).map(({ bytes }) => bytes)
  // The seventh frame ends in the middle: the client lost its connection.
  const broken = frames([...sent, object.chunks[6]!.bytes]).subarray(0, -1)
  isProblem(await service.ask('POST', '/c?upload=u', { body: broken }), 400, 'bad_frame')
  await service.ask('POST', '/o', { body: 'syncs what came before' })
  const left = await missing(service, object, 'u')
  assert.deepEqual(
    left,
    object.chunks.slice(6).map(({ id }) => id),
  )
  assert.deepEqual((await send(service, object, left, 'u')).fields(), { chunks: 4, new: 4 })
  assert.equal((await service.ask('PUT', `/m/${object.id}?upload=u`, { body: object.encoded })).status, 201)
  assert.ok((await service.ask('GET', `/o/${object.id}`)).body.equals(object.bytes))
  await service.stop()
})

test('bytes that are here under another object are not stored again', async () => {
  const service = await TestService.start()
  const shared = noise(4 * CHUNK)
  const [first, second] = [1, 2].map((seed) => Buffer.concat([shared, noise(CHUNK, 100 + seed)]))
  await service.ask('POST', '/o?stream', { body: first! })
  assert.equal(service.metric('chunks_written_total', { tier: 'disk' }), 5)
  await service.ask('POST', '/o?stream', { body: second! })
  assert.equal(service.metric('chunks_written_total', { tier: 'disk' }), 6, 'only the chunk that differs')
  assert.deepEqual(await missing(service, clientObjectOf(Buffer.concat([shared, noise(CHUNK, 3)])), 'u'), [
    addressOf(noise(CHUNK, 3)),
  ])
  await service.stop()
})

test('the same object put by many at once is one object: one is told it is new, each after it is durable', async () => {
  const service = await TestService.start()
  const object = clientObject(200_000)
  const { bytes } = object
  await send(
    service,
    object,
    object.chunks.map(({ id }) => id),
    'u',
  )
  const answers = await service.world.run(
    Promise.all(
      Array.from({ length: 20 }, async (_, at) =>
        at % 2 === 0
          ? await service.send('POST', '/o', { body: bytes })
          : await service.send('PUT', `/m/${object.id}?upload=u`, { body: object.encoded }),
      ),
    ),
  )
  const told = answers.map((answer) => `${answer.status} ${String(answer.fields()['new'])}`).sort()
  assert.deepEqual(told, [...Array<string>(19).fill('200 false'), '201 true'])
  assert.equal(service.metric('chunks_written_total', { tier: 'disk' }), 4)
  service.machine.crash()
  const again = await TestService.start({}, service.world, service.machine)
  assert.ok((await again.ask('GET', `/o/${addressOf(bytes)}`)).body.equals(bytes))
  await again.stop()
})

test('chunks are kept while an upload is alive, and swept an hour after it was last heard of', async () => {
  const service = await TestService.start()
  const object = clientObject(2 * CHUNK)
  await send(
    service,
    object,
    object.chunks.map(({ id }) => id),
    'slow',
  )
  await service.sleep(0.9 * HOUR_MS)
  assert.deepEqual(await missing(service, object, 'slow'), [], 'asking keeps them')
  await service.sleep(0.9 * HOUR_MS)
  assert.equal((await service.ask('GET', `/c/${object.chunks[0]!.id}`)).status, 200)
  await service.sleep(0.2 * HOUR_MS)
  assert.deepEqual(
    await missing(service, object, 'slow'),
    object.chunks.map(({ id }) => id),
  )
  isProblem(await service.ask('PUT', `/m/${object.id}`, { body: object.encoded }), 409, 'missing_chunks')
  await service.stop()
})

test('nothing is swept for a lease time after a start: uploads of the last life may come back', async () => {
  const service = await TestService.start()
  const object = clientObject(2 * CHUNK)
  await send(
    service,
    object,
    object.chunks.map(({ id }) => id),
    'u',
  )
  await service.sleep(1000)
  service.machine.crash()
  const again = await TestService.start({}, service.world, service.machine)
  await again.sleep(0.9 * HOUR_MS)
  assert.deepEqual(await missing(again, object, 'u'), [])
  assert.equal((await again.ask('PUT', `/m/${object.id}?upload=u`, { body: object.encoded })).status, 201)
  await again.stop()
})

test('a deleted object frees its own chunks and leaves those others need', async () => {
  const service = await TestService.start()
  const shared = noise(2 * CHUNK)
  const [keep, drop] = [1, 2].map((seed) => clientObjectOf(Buffer.concat([shared, noise(CHUNK, seed + 50)])))
  for (const { bytes } of [keep!, drop!]) await service.ask('POST', '/o?stream', { body: bytes })
  assert.equal((await service.ask('DELETE', `/o/${drop!.id}`)).status, 204)
  isProblem(await service.ask('GET', `/o/${drop!.id}`), 404, 'not_found')
  isProblem(await service.ask('GET', `/m/${drop!.id}`), 404, 'not_found')
  await service.sleep(HOUR_MS + 200_000)
  isProblem(await service.ask('GET', `/c/${drop!.chunks[2]!.id}`), 404, 'not_found')
  assert.ok((await service.ask('GET', `/o/${keep!.id}`)).body.equals(keep!.bytes))
  assert.equal((await service.ask('POST', '/o?stream', { body: drop!.bytes })).status, 201, 'and can be put again')
  assert.ok((await service.ask('GET', `/o/${drop!.id}`)).body.equals(drop!.bytes))
  await service.stop()
})

test('a deleted object does not come back with the power', async () => {
  const service = await TestService.start()
  const { address } = (await service.ask('POST', '/o', { body: 'gone' })).fields() as { address: string }
  await service.ask('DELETE', `/o/${address}`)
  service.machine.crash()
  const again = await TestService.start({}, service.world, service.machine)
  isProblem(await again.ask('GET', `/o/${address}`), 404, 'not_found')
  await again.stop()
})

test('a reference outlives a restart', async () => {
  const service = await TestService.start()
  const { address } = (await service.ask('POST', '/o', { body: 'a letter' })).fields() as { address: string }
  await service.ask('PUT', `/refs/mailbox/${address}`)
  service.machine.crash()
  const again = await TestService.start({}, service.world, service.machine)
  isProblem(await again.ask('DELETE', `/o/${address}`), 409, 'referenced')
  await again.stop()
})

test('every object that comes in is announced, whichever way it came', async () => {
  const service = await TestService.start()
  using heard = service.parts.events.subscribe()
  const object = clientObject(2 * CHUNK)
  const headers = { 'x-corr-id': CORR_ID }
  await service.ask('POST', '/o', { body: 'small', headers })
  await send(
    service,
    object,
    object.chunks.map(({ id }) => id),
    'u',
  )
  await service.ask('PUT', `/m/${object.id}`, { body: object.encoded, headers })
  await service.ask('PUT', `/m/${object.id}`, { body: object.encoded, headers })
  const events = [heard.tryReceive(), heard.tryReceive(), heard.tryReceive(), heard.tryReceive()]
  const ingest = (address: string, isNew: boolean, bytes: number) => ({
    topic: 'storage.ingest',
    body: { address, new: isNew, bytes, corr_id: CORR_ID },
  })
  assert.deepEqual(
    events.map((each) => (each?.tag === 'value' ? each.value : undefined)),
    [
      ingest(addressOf(Buffer.from('small')), true, 5),
      ingest(object.id, true, 2 * CHUNK),
      ingest(object.id, false, 2 * CHUNK),
      undefined,
    ],
  )
  await service.stop()
})

test('a read goes on to its end though the object is put again in chunks of another size and the old ones are swept', async () => {
  const service = await TestService.start({ config: { cache_bytes: 0 } })
  const { bytes, id } = clientObject(40 * CHUNK + 77)
  await service.ask('POST', '/o?stream', { body: bytes })
  const { reader } = service.parts
  const before = await service.world.run(reader.find(id))
  const again = clientObjectOf(bytes, CHUNK / 2)
  await send(service, again, await missing(service, again, 'other'), 'other')
  assert.equal((await service.ask('PUT', `/m/${id}?upload=other`, { body: again.encoded })).status, 200)
  await service.sleep(HOUR_MS + 200_000)
  isProblem(await service.ask('GET', `/c/${clientObject(40 * CHUNK + 77).chunks[0]!.id}`), 404, 'not_found')
  const read: Uint8Array[] = []
  for (const window of windowsOf({ first: 5, last: bytes.length - 1 }, CHUNK)) {
    using loaded = await service.world.run(reader.load(before!, window))
    read.push(...loaded.pieces.map((piece) => piece.slice()))
  }
  assert.ok(Buffer.concat(read).equals(bytes.subarray(5)))
  await service.stop()
})
