import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Address, addressOf } from '@cairn/wire'
import { isProblem } from '../../../verify/virtual/answer.ts'
import { noise } from '../../../verify/virtual/noise.ts'
import { VirtualWorld } from '../../../verify/virtual/world.ts'
import { DriveTarget } from '../src/targets/drive-target.ts'
import { TestService } from './harness.ts'
import { CHUNK, clientObject, clientObjectOf, frames } from './objects.ts'
import { type DriveSwitch, damage, damageEnd, drivePath, driveSwitch, withDrives } from './several-drives.ts'

const NAMES = ['a', 'b', 'c']
const QUICK = { durability: { sweep_interval: '1s' } } as const

async function start(drives: DriveSwitch = driveSwitch(), config = {}, names = NAMES): Promise<TestService> {
  return await TestService.start(withDrives(names, drives, { ...QUICK, ...config }))
}

/** The same service, begun anew: it remembers nothing it has not read. */
async function restarted(service: TestService): Promise<TestService> {
  await service.stop()
  service.machine.kill()
  const options = withDrives(['a', 'b'], driveSwitch(), { ...QUICK, cache_bytes: 0 })
  const again = await TestService.start(options, service.world, service.machine)
  await again.sleep(1000)
  return again
}

/** Names of the drives that have a copy, or say that it is gone. */
async function where(service: TestService, id: Address, tag: 'object' | 'tombstone' = 'object'): Promise<string> {
  const found = await service.world.run(
    Promise.all(
      service.parts.drives.open.map(async (drive) => {
        const known = await drive.contents.storage.copies.known(id)
        return known.tag === tag ? drive.path.slice(drivePath('').length) : ''
      }),
    ),
  )
  return found.join('')
}

test('three drives, two copies: every way in makes two, reads find them, a delete takes both', async () => {
  const service = await start()
  const small = noise(1000, 3)
  const put = await service.ask('PUT', `/o/${addressOf(small)}`, { body: small })
  assert.equal(put.status, 201)
  assert.equal(put.headers['x-cairn-copies'], undefined)
  const streamed = noise(5 * CHUNK + 5, 4)
  assert.equal((await service.ask('POST', '/o?stream', { body: streamed })).status, 201)
  const upload = clientObject(3 * CHUNK + 1, 5)
  await service.ask('POST', '/c?upload=u', { body: frames(upload.chunks.map(({ bytes }) => bytes)) })
  assert.equal((await service.ask('PUT', `/m/${upload.id}?upload=u`, { body: upload.encoded })).status, 201)
  for (const bytes of [small, streamed, upload.bytes]) {
    const id = addressOf(bytes)
    assert.equal((await where(service, id)).length, 2)
    assert.ok((await service.ask('GET', `/o/${id}`, { token: null })).body.equals(bytes))
    assert.equal((await service.ask('PUT', `/o/${id}?stream`, { body: bytes })).status, 200)
    assert.equal((await where(service, id)).length, 2)
    assert.equal((await service.ask('DELETE', `/o/${id}`)).status, 204)
    assert.equal(await where(service, id), '')
    assert.equal(await where(service, id, 'tombstone'), 'abc')
    isProblem(await service.ask('GET', `/o/${id}`), 404, 'not_found')
    isProblem(await service.ask('DELETE', `/o/${id}`), 404, 'not_found')
    assert.equal((await service.ask('PUT', `/o/${id}?stream`, { body: bytes })).status, 201)
    assert.ok((await service.ask('GET', `/o/${id}`)).body.equals(bytes))
  }
  await service.stop()
})

test('a damaged chunk is read from the other copy, and healed', async () => {
  const service = await start(driveSwitch(), { cache_bytes: 0 }, ['a', 'b'])
  const object = clientObject(3 * CHUNK, 6)
  await service.ask('PUT', `/o/${object.id}`, { body: object.bytes })
  for (const [at, name] of ['a', 'b'].entries()) await damage(service, name, object.chunks[at]!.id)
  const { status, body } = await service.ask('GET', `/o/${object.id}`)
  assert.equal(status, 200)
  assert.ok(body.equals(object.bytes))
  await service.ask('POST', '/admin/scrub')
  await service.sleep(5000)
  assert.ok(service.metric('integrity_fail_total', { reason: 'checksum' }) >= 2)
  for (const drive of service.parts.drives.open)
    for (const { id } of object.chunks)
      assert.equal(await service.world.run(drive.contents.storage.chunks.inspect(id)), 'sound')
  await service.stop()
})

test('an object whose record is damaged on one drive is read from the other, put again, and healed', async () => {
  for (const isDelete of [false, true]) {
    const service = await start(driveSwitch(), { cache_bytes: 0 }, ['a', 'b'])
    const bytes = noise(1000, 6)
    const id = addressOf(bytes)
    const send = async (): Promise<unknown> => await service.ask('PUT', `/o/${id}`, { body: bytes })
    await send()
    // With what the objects are like no longer in memory.
    const again = await restarted(service)
    if (isDelete) await again.ask('DELETE', `/o/${id}`)
    assert.equal(await where(again, id), isDelete ? '' : 'ab')
    await damageEnd(again, `${drivePath('a')}/journal`)
    if (isDelete) {
      isProblem(await again.ask('GET', `/o/${id}`), 404, 'not_found')
      assert.equal((await again.ask('PUT', `/o/${id}`, { body: bytes })).status, 201)
    }
    assert.ok((await again.ask('GET', `/o/${id}`)).body.equals(bytes))
    await again.sleep(10_000)
    assert.equal(await where(again, id), 'ab')
    assert.ok((await again.ask('GET', `/o/${id}`)).body.equals(bytes))
    await again.stop()
  }
})

test('an object whose record is damaged on every drive is lost, and not unheard of, until it is put again', async () => {
  const service = await start(driveSwitch(), { cache_bytes: 0 }, ['a', 'b'])
  const bytes = noise(1000, 6)
  const id = addressOf(bytes)
  await service.ask('PUT', `/o/${id}`, { body: bytes })
  const again = await restarted(service)
  for (const name of ['a', 'b']) await damageEnd(again, `${drivePath(name)}/journal`)
  for (let time = 1; time <= 3; time += 1) isProblem(await again.ask('GET', `/o/${id}`), 502, 'integrity')
  assert.equal((await again.ask('PUT', `/o/${id}`, { body: bytes })).status, 200)
  assert.ok((await again.ask('GET', `/o/${id}`)).body.equals(bytes))
  await again.stop()
})

test('a chunk that is damaged in every copy is tried once a round, and swept once nobody refers to it', async () => {
  const service = await start(driveSwitch(), { cache_bytes: 0, upload_lease: '2s' }, ['a', 'b'])
  const object = clientObject(3 * CHUNK, 6)
  await service.ask('PUT', `/o/${object.id}`, { body: object.bytes })
  for (const name of ['a', 'b']) await damage(service, name, object.chunks[1]!.id)
  const damaged = async (): Promise<unknown> => {
    await service.sleep(20_000)
    await service.ask('POST', '/admin/scrub')
    await service.sleep(20_000)
    const { scrub } = (await service.ask('GET', '/admin/durability')).fields() as { scrub: Record<string, unknown> }
    return scrub['damaged_count']
  }
  assert.equal(await damaged(), 2)
  const tries = service.metric('repair_skipped_total', { reason: 'no_copy' })
  assert.ok(tries > 0 && tries < 40, `${tries} tries`)
  assert.equal((await service.ask('DELETE', `/o/${object.id}`)).status, 204)
  assert.equal(await damaged(), 0)
  await service.stop()
})

test('copies of an object that was put again in chunks of another size are cut in the same way, and heal each other', async () => {
  const drives = driveSwitch()
  const service = await start(drives, { cache_bytes: 0 })
  const bytes = noise(3 * CHUNK, 6)
  const { id, chunks, encoded } = clientObjectOf(bytes, CHUNK / 2)
  await service.ask('POST', '/o?stream', { body: bytes })
  const [first, second] = (await where(service, id)).split('')
  // One of the two misses the second put, and comes back as it was.
  drives.gone.add(first!)
  await service.sleep(3000)
  await service.ask('POST', '/c?upload=u', { body: frames(chunks.map((chunk) => chunk.bytes)) })
  assert.equal((await service.ask('PUT', `/m/${id}?upload=u`, { body: encoded })).status, 200)
  drives.gone.clear()
  await service.sleep(10_000)
  for (const [at, name] of (await where(service, id)).split('').entries()) await damage(service, name, chunks[at]!.id)
  assert.ok((await service.ask('GET', `/o/${id}`)).body.equals(bytes))
  await service.ask('POST', '/admin/scrub')
  await service.sleep(5000)
  for (const drive of service.parts.drives.open)
    for (const chunk of chunks)
      if (drive.contents.storage.chunks.exists(chunk.id))
        assert.equal(await service.world.run(drive.contents.storage.chunks.inspect(chunk.id)), 'sound')
  drives.gone.add(second!)
  await service.sleep(3000)
  assert.ok((await service.ask('GET', `/o/${id}`)).body.equals(bytes))
  await service.stop()
})

test('with one drive gone reads go on, writes go to the others, and repair makes the copies that are missing', async () => {
  const drives = driveSwitch()
  const service = await start(drives)
  const objects = Array.from({ length: 12 }, (_, at) => noise(500 + at * 20_000, at + 1))
  for (const bytes of objects) assert.equal((await service.ask('POST', '/o', { body: bytes })).status, 201)
  drives.gone.add('b')
  await service.sleep(10_000)
  const late = noise(900, 99)
  assert.equal((await service.ask('POST', '/o', { body: late })).status, 201)
  for (const bytes of [...objects, late]) {
    const id = addressOf(bytes)
    assert.equal(await where(service, id), 'ac')
    assert.ok((await service.ask('GET', `/o/${id}`)).body.equals(bytes))
  }
  await service.sleep(2000)
  const report = (await service.ask('GET', '/admin/durability')).fields()
  assert.equal(report['target_copies'], 2)
  const { full, under, single } = report['copies'] as Record<string, number>
  assert.deepEqual({ full, under, single }, { full: 13, under: 0, single: 0 })
  assert.match(JSON.stringify(report['places']), /"state":"down","why":"The drive \w+ is not at drives\/b/)
  await service.stop()
})

test('too few drives for two copies: 503, or one copy and a header where that is allowed', async () => {
  const drives = driveSwitch()
  const service = await start(drives, {}, ['a', 'b'])
  drives.gone.add('a')
  await service.sleep(1000)
  isProblem(await service.ask('POST', '/o', { body: 'x' }), 503, 'under_replicated')
  await service.stop()
  const degraded = await TestService.start(
    withDrives(['a', 'b'], drives, { durability: { ...QUICK.durability, allow_degraded_writes: true } }),
  )
  await degraded.sleep(1000)
  const { status, headers } = await degraded.ask('POST', '/o', { body: 'y' })
  assert.equal(`${status} ${headers['x-cairn-copies']}`, '201 1/2')
  drives.gone.clear()
  await degraded.sleep(6000)
  assert.equal(await where(degraded, addressOf(Buffer.from('y'))), 'ab')
  await degraded.stop()
})

test('a node whose drives are all gone does not tell its peers that nothing is there', async () => {
  const drives = driveSwitch()
  const service = await start(drives, { cache_bytes: 0 }, ['a', 'b'])
  const bytes = noise(3 * CHUNK, 6)
  assert.equal((await service.ask('POST', '/o', { body: bytes })).status, 201)
  for (const name of ['a', 'b']) drives.gone.add(name)
  await service.sleep(1000)
  const id = addressOf(bytes)
  const [chunk] = clientObject(3 * CHUNK, 6).chunks
  const peerAsks = [`/copies/${id}`, '/copies', `/c/${chunk?.id}`, '/c', `/m/${id}?copy`]
  for (const path of peerAsks) isProblem(await service.ask('GET', path), 503, 'drive_failed')
  isProblem(await service.ask('PUT', `/refs/mailbox/${id}?copy`), 503, 'drive_failed')
  await service.stop()
})

test('a node with one drive gone says that it may not know of everything', async () => {
  const drives = driveSwitch()
  const service = await start(drives, {}, ['a', 'b'])
  const ask = async (): Promise<unknown> => {
    const headers = { 'content-type': 'application/json' }
    const body = JSON.stringify({ ids: [addressOf(noise(1, 1))] })
    return (await service.ask('POST', '/copies/known', { body, headers })).fields()['copies']
  }
  assert.deepEqual(await ask(), [{ tag: 'absent' }])
  drives.gone.add('a')
  await service.sleep(1000)
  assert.deepEqual(await ask(), [{ tag: 'absent', partial: true }])
  await service.stop()
})

test('a drive that comes back learns what was deleted while it was away', async () => {
  const drives = driveSwitch()
  const service = await start(drives)
  const objects = Array.from({ length: 8 }, (_, at) => noise(700, at + 1))
  for (const bytes of objects) await service.ask('POST', '/o', { body: bytes })
  drives.gone.add('a')
  await service.sleep(6000)
  const [kept, ...deleted] = objects
  for (const bytes of deleted) assert.equal((await service.ask('DELETE', `/o/${addressOf(bytes)}`)).status, 204)
  drives.gone.clear()
  await service.sleep(1000)
  for (const bytes of deleted) isProblem(await service.ask('GET', `/o/${addressOf(bytes)}`), 404, 'not_found')
  await service.sleep(6000)
  for (const bytes of deleted) assert.equal(await where(service, addressOf(bytes)), '')
  assert.ok((await service.ask('GET', `/o/${addressOf(kept!)}`)).body.equals(kept!))
  await service.stop()
})

test('a copy made while a drive was away is let go of once the drive is back and its copy was read', async () => {
  const drives = driveSwitch()
  const service = await start(drives)
  const objects = Array.from({ length: 6 }, (_, at) => noise(700, at + 50))
  for (const bytes of objects) await service.ask('PUT', `/o/${addressOf(bytes)}?hold=mailbox`, { body: bytes })
  const before = await Promise.all(objects.map(async (bytes) => await where(service, addressOf(bytes))))
  drives.gone.add('a')
  await service.sleep(6000)
  for (const bytes of objects) assert.equal(await where(service, addressOf(bytes)), 'bc')
  drives.gone.clear()
  await service.sleep(2000)
  await service.ask('POST', '/admin/scrub')
  await service.sleep(8000)
  for (const [at, bytes] of objects.entries()) {
    assert.equal(await where(service, addressOf(bytes)), before[at])
    isProblem(await service.ask('DELETE', `/o/${addressOf(bytes)}`), 409, 'referenced')
  }
  await service.stop()
})

test('what was stored before there were drives is not forgotten: its directory has to be one of them', async () => {
  const world = new VirtualWorld(1)
  const machine = world.machine('node')
  const alone = await TestService.start({}, world, machine)
  const bytes = noise(5000, 8)
  await alone.ask('POST', '/o', { body: bytes })
  await alone.stop()
  machine.kill()
  await assert.rejects(TestService.start(withDrives(['a', 'b'], driveSwitch(), QUICK), world, machine), {
    code: 'config',
  })
  machine.kill()
  const drives = [
    { path: 'data/storage', domain: 'first' },
    ...['a', 'b'].map((name) => ({ path: drivePath(name), domain: name })),
  ]
  const service = await TestService.start({ config: { ...QUICK, drives } }, world, machine)
  await service.sleep(6000)
  assert.ok((await service.ask('GET', `/o/${addressOf(bytes)}`)).body.equals(bytes))
  assert.equal(service.parts.replication.plan.last?.full, 1)
  await service.stop()
})

test('peers need a name for this node, and every node one of its own', async () => {
  const peer = { url: 'http://b:7071', id: 'b', token_file: 'token' }
  for (const placement of [{}, { id: 'b' }])
    await assert.rejects(TestService.start({ config: { peers: [peer], placement } }), { code: 'config' })
})

/** Who holds the object, drive by drive. */
async function owners({ parts, world }: TestService, id: Address): Promise<string> {
  const all = parts.drives.open.map(async (drive) => await drive.contents.storage.objects.holds.owners(id))
  return (await world.run(Promise.all(all))).flat().join()
}

test('a hold counts once as many copies know as there should be', async () => {
  const drives = driveSwitch()
  const service = await start(drives, {}, ['a', 'b'])
  const id = addressOf(noise(700, 1))
  await service.ask('POST', '/o', { body: noise(700, 1) })
  drives.gone.add('a')
  await service.sleep(1000)
  isProblem(await service.ask('PUT', `/refs/mailbox/${id}`), 503, 'under_replicated')
  drives.gone.clear()
  await service.sleep(1000)
  assert.equal((await service.ask('PUT', `/refs/mailbox/${id}`)).status, 204)
  await service.stop()
})

test('a drive that was away learns who holds what', async () => {
  const drives = driveSwitch()
  const service = await start(drives)
  const objects = Array.from({ length: 8 }, (_, at) => noise(700, at + 1))
  for (const bytes of objects) await service.ask('POST', '/o', { body: bytes })
  const ids = objects.map((bytes) => addressOf(bytes))
  const before = await Promise.all(ids.map(async (id) => await where(service, id)))
  drives.gone.add('a')
  await service.sleep(6000)
  for (const id of ids) {
    assert.equal((await service.ask('PUT', `/refs/mailbox/${id}`)).status, 204, 'the copies are made anew')
    isProblem(await service.ask('DELETE', `/refs/mailbox/${id}`), 503, 'copies_away')
  }
  drives.gone.clear()
  await service.sleep(1000)
  for (const id of ids) isProblem(await service.ask('DELETE', `/o/${id}`), 409, 'referenced')
  // Not while a round of repair runs: it may put a hold back that is being released.
  await service.sleep(6150)
  for (const [at, id] of ids.entries())
    assert.equal(
      await owners(service, id),
      before[at]?.includes('a') === true ? 'mailbox,mailbox,mailbox' : 'mailbox,mailbox',
    )
  for (const id of ids) {
    assert.equal((await service.ask('DELETE', `/refs/mailbox/${id}`)).status, 204)
    assert.equal((await service.ask('DELETE', `/o/${id}`)).status, 204)
  }
  await service.stop()
})

test('with one copy of each, what is on a drive that is there can be deleted, whichever other is away', async () => {
  const drives = driveSwitch()
  const service = await start(drives, { durability: { ...QUICK.durability, replication_factor: 1 } })
  const bytes = noise(700, 1)
  const id = addressOf(bytes)
  await service.ask('PUT', `/o/${id}?hold=mailbox`, { body: bytes })
  const home = await where(service, id)
  for (const name of NAMES) if (name !== home) drives.gone.add(name)
  await service.sleep(1000)
  isProblem(await service.ask('DELETE', `/o/${id}`), 409, 'referenced')
  assert.equal((await service.ask('DELETE', `/refs/mailbox/${id}`)).status, 204)
  assert.equal((await service.ask('DELETE', `/o/${id}`)).status, 204)
  await service.stop()
})

test('what is held may be on drives that are away: nobody deletes it meanwhile', async () => {
  const drives = driveSwitch()
  const service = await start(drives, {}, ['a', 'b', 'c', 'd'])
  const bytes = noise(700, 1)
  const id = addressOf(bytes)
  await service.ask('PUT', `/o/${id}?hold=mailbox`, { body: bytes })
  for (const name of await where(service, id)) drives.gone.add(name)
  await service.sleep(1000)
  assert.equal((await service.ask('PUT', `/o/${id}`, { body: bytes })).status, 201)
  isProblem(await service.ask('DELETE', `/o/${id}`), 503, 'copies_away')
  drives.gone.clear()
  await service.sleep(1000)
  isProblem(await service.ask('DELETE', `/o/${id}`), 409, 'referenced')
  await service.sleep(6000)
  assert.equal(await owners(service, id), 'mailbox,mailbox,mailbox,mailbox')
  await service.stop()
})

test('an object is there while one drive lets go of a copy too many and another is slow to say what it has', async () => {
  const drives = driveSwitch()
  const service = await start(drives)
  const bytes = noise(700, 50)
  const id = addressOf(bytes)
  const { objects, replication } = service.parts
  const targets = replication.replicas.targets.filter((target) => target instanceof DriveTarget)
  const [kept = assert.fail('no drive'), spare = assert.fail('one drive')] = targets
  // Of a record this long the index has only where it is.
  const copy = { id, bytes, type: 'x'.repeat(600), chunkSize: CHUNK, owners: [] }
  drives.slow.set('a', 10)
  for (let afterMs = 0; afterMs < 10; afterMs += 0.5) {
    const version = 2 * afterMs * 10
    await service.world.run(kept.put({ ...copy, version: version + 1 }))
    await service.world.run(spare.put({ ...copy, version: version + 2 }))
    const asked = objects.stat(id)
    await service.sleep(afterMs)
    const [facts] = await service.world.run(Promise.all([asked, spare.drop(id, version + 2)]))
    assert.equal(facts?.size, 700, `${afterMs} ms after the question`)
  }
  await service.stop()
})
