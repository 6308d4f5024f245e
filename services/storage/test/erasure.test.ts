import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Address, addressOf } from '@cairn/wire'
import { isProblem } from '../../../verify/virtual/answer.ts'
import { noise } from '../../../verify/virtual/noise.ts'
import { TestService } from './harness.ts'
import { CHUNK, clientObject, frames } from './objects.ts'
import { type DriveSwitch, damage, drivePath, driveSwitch, withDrives } from './several-drives.ts'

const NINE = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i']
const STRIPE = 6 * CHUNK
const ERASURE = { cache_bytes: 0, durability: { mode: 'erasure', sweep_interval: '1s' } } as const

async function start(drives: DriveSwitch = driveSwitch(), names: readonly string[] = NINE): Promise<TestService> {
  return await TestService.start(withDrives(names, drives, ERASURE))
}

/** How many drives have the record of the object. */
async function holders(service: TestService, id: Address): Promise<number> {
  const { open } = service.parts.drives
  const known = await service.world.run(
    Promise.all(open.map(async (drive) => await drive.contents.storage.copies.known(id))),
  )
  return known.filter(({ tag }) => tag === 'object').length
}

async function reads(service: TestService, bytes: Buffer): Promise<boolean> {
  const { status, body } = await service.ask('GET', `/o/${addressOf(bytes)}`, { token: null })
  return status === 200 && body.equals(bytes)
}

test('nine drives, 6+3: every way in makes shards, ranges and manifests are as ever, a delete takes all', async () => {
  const service = await start()
  const whole = noise(STRIPE + 100, 1)
  const streamed = noise(2 * STRIPE + 3 * CHUNK + 7, 2)
  const upload = clientObject(STRIPE + 2 * CHUNK, 3)
  assert.equal((await service.ask('PUT', `/o/${addressOf(whole)}`, { body: whole })).status, 201)
  assert.equal((await service.ask('POST', '/o?stream', { body: streamed })).status, 201)
  await service.ask('POST', '/c?upload=u', { body: frames(upload.chunks.map(({ bytes }) => bytes)) })
  assert.equal((await service.ask('PUT', `/m/${upload.id}?upload=u`, { body: upload.encoded })).status, 201)
  for (const bytes of [whole, streamed, upload.bytes]) {
    const id = addressOf(bytes)
    assert.ok(await reads(service, bytes))
    const range = await service.ask('GET', `/o/${id}`, { headers: { range: `bytes=${CHUNK - 5}-${3 * CHUNK}` } })
    assert.ok(range.body.equals(bytes.subarray(CHUNK - 5, 3 * CHUNK + 1)))
    assert.equal((await service.ask('GET', `/m/${id}`)).status, 200)
    assert.equal((await service.ask('PUT', `/o/${id}?stream`, { body: bytes })).status, 200, 'it is here already')
    assert.equal(await holders(service, id), 9)
    assert.equal((await service.ask('PUT', `/refs/mailbox/${id}`)).status, 204)
    isProblem(await service.ask('DELETE', `/o/${id}`), 409, 'referenced')
    assert.equal((await service.ask('DELETE', `/refs/mailbox/${id}`)).status, 204)
    assert.equal((await service.ask('DELETE', `/o/${id}`)).status, 204)
    assert.equal(await holders(service, id), 0)
    isProblem(await service.ask('GET', `/o/${id}`), 404, 'not_found')
    assert.equal((await service.ask('PUT', `/o/${id}?stream`, { body: bytes })).status, 201)
    assert.ok(await reads(service, bytes))
  }
  await service.stop()
})

test('an object of less than one stripe has one copy more than may be lost', async () => {
  const service = await start()
  for (const bytes of [noise(10, 4), noise(STRIPE - 1, 5)]) {
    assert.equal((await service.ask('POST', '/o?stream', { body: bytes })).status, 201)
    assert.equal(await holders(service, addressOf(bytes)), 4)
    assert.ok(await reads(service, bytes))
  }
  await service.stop()
})

test('three drives gone: everything reads, puts are refused; a fourth: what is lost is said to be', async () => {
  const drives = driveSwitch()
  const service = await start(drives)
  const objects = [noise(STRIPE, 6), noise(2 * STRIPE + 9, 7), noise(500, 8)]
  for (const bytes of objects) await service.ask('POST', '/o?stream', { body: bytes })
  for (const name of ['a', 'e', 'i']) drives.gone.add(name)
  await service.sleep(3000)
  // What was rebuilt stays in memory for a while: the other object is not read before it is lost.
  for (const bytes of [objects[0]!, objects[2]!]) assert.ok(await reads(service, bytes))
  isProblem(await service.ask('POST', '/o?stream', { body: noise(STRIPE, 9) }), 503, 'under_replicated')
  const degraded = (await service.ask('GET', '/admin/durability')).fields()['copies'] as Record<string, number>
  assert.deepEqual([degraded['objects'], degraded['lost'], degraded['single']], [3, 0, 2])
  drives.gone.add('d')
  await service.sleep(3000)
  isProblem(await service.ask('GET', `/o/${addressOf(objects[1]!)}`), 502, 'integrity')
  const report = (await service.ask('GET', '/admin/durability')).fields()['copies'] as Record<string, number>
  assert.equal(report['lost'], 2)
  drives.gone.clear()
  await service.sleep(5000)
  for (const bytes of objects) assert.ok(await reads(service, bytes))
  await service.stop()
})

test('with a drive to spare, lost shards are rebuilt on it', async () => {
  const drives = driveSwitch()
  const service = await start(drives, [...NINE, 'j', 'k', 'l'])
  const objects = [noise(STRIPE, 10), noise(3 * STRIPE + 9, 11)]
  for (const bytes of objects) await service.ask('POST', '/o?stream', { body: bytes })
  for (const name of ['a', 'b', 'c']) drives.gone.add(name)
  await service.sleep(20_000)
  const report = (await service.ask('GET', '/admin/durability')).fields()['copies'] as Record<string, number>
  assert.deepEqual([report['full'], report['under'], report['single'], report['lost']], [2, 0, 0, 0])
  assert.ok(service.metric('repair_bytes_total', { phase: 'executed' }) > 0)
  for (const name of ['d', 'e', 'f']) drives.gone.add(name)
  await service.sleep(2000)
  for (const bytes of objects) assert.ok(await reads(service, bytes), 'three more may go')
  await service.stop()
})

test('scrub finds a flipped byte in a data and in a parity shard, and both are healed', async () => {
  const service = await start()
  const bytes = noise(STRIPE, 12)
  await service.ask('POST', '/o?stream', { body: bytes })
  const found: { readonly name: string; readonly id: Address }[] = []
  for (const name of NINE) {
    const drive = service.parts.drives.all.find(({ path }) => path === drivePath(name))!
    const ids = await service.world.run(drive.contents.storage.chunks.list(undefined, 10))
    // The shard, and pages of lists, which are shorter.
    for (const id of ids) {
      const held = await service.world.run(drive.contents.storage.chunks.read(id))
      if (held?.bytes.length === CHUNK) found.push({ name, id })
      held?.[Symbol.dispose]()
    }
  }
  assert.equal(found.length, 9)
  for (const { name, id } of found.slice(0, 3)) await damage(service, name, id)
  await service.ask('POST', '/admin/scrub')
  await service.sleep(10_000)
  assert.ok(service.metric('integrity_fail_total', { reason: 'checksum' }) >= 3)
  for (const { name, id } of found) {
    const drive = service.parts.drives.all.find(({ path }) => path === drivePath(name))!
    assert.equal(await service.world.run(drive.contents.storage.chunks.inspect(id)), 'sound')
  }
  assert.ok(await reads(service, bytes))
  await service.stop()
})

test('fewer failure domains than shards are an error of the configuration', async () => {
  await assert.rejects(start(driveSwitch(), NINE.slice(0, 8)), {
    code: 'config',
    message: /6\+3 shards in as many failure domains, and storage.drives has 8/,
  })
})
