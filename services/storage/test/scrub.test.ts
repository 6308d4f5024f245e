/** The scrub reads the segments, compares them with the index, and never calls right what it did not read. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressOf } from '@cairn/wire'
import { noise } from '../../../verify/virtual/noise.ts'
import { VirtualWorld } from '../../../verify/virtual/world.ts'
import { TestService } from './harness.ts'

const SEGMENTS = 'data/storage/journal'

interface Scrub {
  readonly records: number
  readonly bytes: number
  readonly damaged_count: number
  readonly damaged_records: number
  readonly damaged_bytes: number
  readonly missing: number
  readonly mended: number
  readonly not_read: readonly number[]
}

interface Report {
  readonly scrub: Scrub
  readonly objects: { readonly sound: number; readonly damaged: number }
  readonly collection: { readonly blocked_by: string | null }
}

async function scrubbed(service: TestService): Promise<Report> {
  const before = service.parts.scrubs.report().completed_at
  await service.ask('POST', '/admin/scrub')
  while (service.parts.scrubs.report().completed_at === before) await service.sleep(100)
  return (await service.ask('GET', '/admin/durability')).fields() as unknown as Report
}

async function put(service: TestService, bytes: Buffer): Promise<void> {
  assert.equal((await service.ask('POST', '/o', { body: bytes })).status, 201)
}

test('the record of an object that rots is found: what cannot be read any more is not called sound', async () => {
  const service = await TestService.start({ config: { cache_bytes: 0 } })
  const [first, second] = [noise(1000, 1), noise(1000, 2)]
  await put(service, first)
  await put(service, second)
  assert.deepEqual((await scrubbed(service)).objects, { sound: 2, damaged: 0 })
  assert.equal(service.metric('scrub_mended_total'), 0)
  // Header, chunk and its header, header of the first object's record, and somewhere in its payload.
  service.machine.drive.damage(`${SEGMENTS}/0000000001.seg`, (128 + 72 + 1000 + 72 + 10) * 8)
  const { scrub, objects } = await scrubbed(service)
  assert.deepEqual([objects, scrub.damaged_records], [{ sound: 1, damaged: 1 }, 1])
  await service.stop()
})

test('a record whose header rots is a stretch in which nothing can be made out, and its object is damaged', async () => {
  const service = await TestService.start({ config: { cache_bytes: 0 } })
  await put(service, noise(1000, 1))
  await put(service, noise(1000, 2))
  service.machine.drive.damage(`${SEGMENTS}/0000000001.seg`, (128 + 40) * 8)
  const { scrub, collection } = await scrubbed(service)
  assert.ok(scrub.damaged_bytes >= 1072, String(scrub.damaged_bytes))
  assert.equal(collection.blocked_by, null, 'no round was due yet')
  await service.stop()
})

test('a segment that cannot be read holds garbage back, is not called read, and can be given up', async () => {
  const config = { segment_bytes: '2MiB', upload_lease: '1s', durability: { sweep_interval: '1s' }, cache_bytes: 0 }
  const service = await TestService.start({ config })
  const objects = Array.from({ length: 60 }, (_, seed) => noise(60_000, seed))
  for (const bytes of objects) await put(service, bytes)
  await service.world.run(service.shutDown())
  service.machine.kill()
  service.machine.drive.damage(`${SEGMENTS}/0000000001.seg`, 20 * 8)
  const again = await TestService.start({ config }, service.world, service.machine)
  assert.equal((await again.ask('DELETE', `/o/${addressOf(objects[59]!)}`)).status, 204)
  await again.sleep(10_000)
  assert.equal(again.metric('swept_chunks_total'), 0)
  assert.equal(again.metric('garbage_held_back'), 1)
  const { scrub, collection } = await scrubbed(again)
  assert.deepEqual(scrub.not_read, [1])
  assert.equal(collection.blocked_by, 'Segment 1 cannot be read.')
  const json = (body: unknown): object => ({
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json' },
  })
  assert.equal((await again.ask('POST', '/admin/scrub/give-up', json({ segment: 2 }))).status, 409)
  const asked = (await again.ask('POST', '/admin/scrub/give-up', json({ segment: 1, dry_run: true }))).fields()
  assert.deepEqual([asked['unreadable'], asked['kept_as']], [true, null])
  const given = (await again.ask('POST', '/admin/scrub/give-up', json({ segment: 1 }))).fields()
  assert.equal(given['kept_as'], '0000000001.given-up')
  await again.sleep(10_000)
  assert.ok(again.metric('swept_chunks_total') >= 1)
  assert.equal(again.metric('garbage_held_back'), 0)
  assert.deepEqual((await scrubbed(again)).scrub.not_read, [])
  await again.stop()
})

test('a segment that was given up stays away, also if the power goes right after the answer', async () => {
  const config = { segment_bytes: '2MiB', cache_bytes: 0 }
  for (let seed = 1; seed <= 6; seed += 1) {
    const service = await TestService.start({ config }, new VirtualWorld(seed))
    for (let at = 0; at < 40; at += 1) await put(service, noise(60_000, at))
    service.machine.drive.damage(`${SEGMENTS}/0000000001.seg`, (128 + 40) * 8)
    await scrubbed(service)
    const headers = { 'content-type': 'application/json' }
    const given = await service.ask('POST', '/admin/scrub/give-up', { body: '{"segment":1}', headers })
    assert.equal(given.status, 200)
    service.machine.crash()
    const names = service.machine.drive.list(SEGMENTS).map(({ name }) => name)
    assert.ok(names.includes('0000000001.given-up') && !names.includes('0000000001.seg'), names.join(' '))
  }
})

test('of a damaged segment that is given up everything else is kept, now and after a restart', async () => {
  const config = { segment_bytes: '2MiB', cache_bytes: 0 }
  const service = await TestService.start({ config })
  const objects = Array.from({ length: 60 }, (_, seed) => noise(60_000, seed))
  for (const bytes of objects) await put(service, bytes)
  service.machine.drive.damage(`${SEGMENTS}/0000000001.seg`, (128 + 40) * 8)
  assert.ok((await scrubbed(service)).scrub.damaged_bytes > 0)
  const body = JSON.stringify({ segment: 1 })
  const answer = await service.ask('POST', '/admin/scrub/give-up', {
    body,
    headers: { 'content-type': 'application/json' },
  })
  assert.equal(answer.status, 200)
  assert.deepEqual((answer.fields()['lost'] as { chunks: number }).chunks, 1)
  const check = async (each: TestService): Promise<void> => {
    for (const [at, bytes] of objects.entries()) {
      const { status, body: read } = await each.ask('GET', `/o/${addressOf(bytes)}`)
      if (at > 0) assert.ok(read.equals(bytes), `object ${at}`)
      else assert.notEqual(status, 200)
    }
  }
  await check(service)
  await service.world.run(service.shutDown())
  service.machine.kill()
  const again = await TestService.start({ config }, service.world, service.machine)
  await check(again)
  assert.equal((await scrubbed(again)).scrub.damaged_bytes, 0)
  await again.stop()
})
