import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Address, addressOf } from '@cairn/wire'
import { isProblem } from '../../../verify/virtual/answer.ts'
import { workOrDown } from '../../../verify/virtual/lives.ts'
import { noise } from '../../../verify/virtual/noise.ts'
import { VirtualWorld } from '../../../verify/virtual/world.ts'
import { TestService } from './harness.ts'
import { CHUNK, clientObject, clientObjectOf, frames } from './objects.ts'
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

/** As a client sends it that cuts objects into chunks of its own size. */
async function upload(service: TestService, bytes: Buffer, chunkSize: number): Promise<number> {
  const { id, encoded, chunks } = clientObjectOf(bytes, chunkSize)
  const name = `${chunkSize}`
  await service.send('POST', `/c?upload=${name}`, { body: frames(chunks.map((chunk) => chunk.bytes)) })
  return (await service.send('PUT', `/m/${id}?upload=${name}`, { body: encoded })).status
}

async function isStriped(service: TestService, id: Address): Promise<boolean> {
  const [known] = await service.parts.own.known([id])
  return known?.tag === 'object' && known.isStriped === true
}

test('an object that is put again in chunks of another size is coded anew, or copied if it has no whole stripe', async () => {
  const drives = driveSwitch()
  const service = await start(drives)
  const bytes = noise(STRIPE + 100, 13)
  const id = addressOf(bytes)
  await service.ask('POST', '/o?stream', { body: bytes })
  for (const [chunkSize, hasStripe] of [
    [CHUNK / 2, true],
    [2 * CHUNK, false],
    [CHUNK, true],
  ] as const) {
    assert.equal(await service.world.run(upload(service, bytes, chunkSize)), 200)
    assert.ok(await reads(service, bytes))
    assert.equal(await service.world.run(isStriped(service, id)), hasStripe)
    await service.ask('POST', '/admin/scrub')
    await service.sleep(5000)
    const { full } = (await service.ask('GET', '/admin/durability')).fields()['copies'] as Record<string, number>
    assert.equal(full, 1)
    assert.equal(await holders(service, id), hasStripe ? 9 : 4, 'what is left of the time before goes')
    for (const name of ['b', 'd', 'h']) drives.gone.add(name)
    await service.sleep(3000)
    assert.ok(await reads(service, bytes))
    drives.gone.clear()
    await service.sleep(3000)
  }
  await service.stop()
})

test('wherever the power goes in the commit of an object that is coded anew, it reads, and has all its shards again', async () => {
  const bytes = noise(3 * CHUNK, 14)
  const durability = { ...ERASURE.durability, data_shards: 2, parity_shards: 1 }
  const optionsOf = (chunkSize: number) =>
    withDrives(NINE.slice(0, 3), driveSwitch(), { ...ERASURE, chunk_size: chunkSize, durability })
  const options = optionsOf(CHUNK / 2)
  /** Cuts the power at this call of the second put, if there are as many; says how many there were. */
  const cutAt = async (seed: number, call: number): Promise<number> => {
    const first = await TestService.start(optionsOf(CHUNK), new VirtualWorld(seed))
    const { world, machine } = first
    await first.ask('POST', '/o?stream', { body: bytes })
    machine.crash()
    const second = await TestService.start(options, world, machine)
    const before = machine.calls
    machine.crashAfter(call)
    const put = second.send('POST', '/o?stream', { body: bytes }).then(({ status }) => assert.equal(status, 200))
    await world.run(workOrDown(world, machine, [put]))
    const calls = machine.calls - before
    if (machine.isUp) machine.crash()
    const service = await TestService.start(options, world, machine)
    assert.ok(await reads(service, bytes), `seed ${seed}, cut at call ${call}`)
    await service.sleep(4000)
    const { full, objects } = (await service.ask('GET', '/admin/durability')).fields()['copies'] as Record<
      string,
      number
    >
    assert.deepEqual([full, objects], [1, 1], `seed ${seed}, cut at call ${call}`)
    await service.stop()
    return calls
  }
  const calls = await cutAt(1, Number.POSITIVE_INFINITY)
  // The same call again and again: what of it is kept is up to the drives.
  for (let seed = 1; seed <= 24; seed += 1) await cutAt(seed, calls - (seed % 12))
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
