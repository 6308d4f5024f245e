import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressOf } from '@cairn/wire'
import { isProblem } from '../../../verify/virtual/answer.ts'
import { noise } from '../../../verify/virtual/noise.ts'
import { VirtualWorld } from '../../../verify/virtual/world.ts'
import { TestService } from './harness.ts'
import { Nodes } from './nodes.ts'
import { drivePath, driveSwitch, withDrives } from './several-drives.ts'

const LONG_MS = 300_000
const QUICK = { sweep_interval: '5s', tombstone_keep: '2m' } as const
const OBJECTS = Array.from({ length: 6 }, (_, at) => noise(800 + at, at + 1))

test('a drive away for longer than deletes are kept comes back empty, and is filled again', async () => {
  const drives = driveSwitch()
  const config = { segment_bytes: '2MiB', durability: QUICK } as const
  const service = await TestService.start(withDrives(['a', 'b', 'c'], drives, config))
  for (const body of OBJECTS) await service.ask('POST', '/o', { body })
  drives.gone.add('a')
  await service.sleep(10_000)
  const [deleted, ...kept] = OBJECTS
  assert.equal((await service.ask('DELETE', `/o/${addressOf(deleted!)}`)).status, 204)
  await service.sleep(LONG_MS)
  drives.gone.clear()
  await service.sleep(60_000)
  const [drive] = service.parts.drives.all
  assert.equal(drive?.emptied, 1)
  isProblem(await service.ask('GET', `/o/${addressOf(deleted!)}`), 404, 'not_found')
  for (const body of kept) assert.ok((await service.ask('GET', `/o/${addressOf(body)}`)).body.equals(body))
  const names = service.machine.drive.list(drivePath('a')).map(({ name }) => name)
  assert.ok(
    names.some((name) => name.startsWith('journal.away-')),
    'what was on it is set aside',
  )
  await service.stop()
})

test('a node that was off with all its drives believes them, however long that was', async () => {
  const world = new VirtualWorld(1)
  const machine = world.machine('node')
  const options = withDrives(['a', 'b'], driveSwitch(), { durability: QUICK })
  const before = await TestService.start(options, world, machine)
  for (const body of OBJECTS) await before.ask('POST', '/o', { body })
  await before.stop()
  machine.kill()
  await world.run(world.sleep(LONG_MS))
  const again = await TestService.start(options, world, machine)
  for (const body of OBJECTS) assert.ok((await again.ask('GET', `/o/${addressOf(body)}`)).body.equals(body))
  assert.deepEqual(
    again.parts.drives.all.map(({ emptied }) => emptied),
    [0, 0],
  )
  await again.stop()
})

test('an empty mount point where a drive was is not made a drive, and the drive is taken back when it is there', async () => {
  const drives = driveSwitch()
  const world = new VirtualWorld(1)
  const machine = world.machine('node')
  const options = withDrives(['a', 'b', 'c'], drives, { durability: QUICK })
  const first = await TestService.start(options, world, machine)
  for (const body of OBJECTS) await first.ask('POST', '/o', { body })
  await first.stop()
  machine.kill()
  drives.gone.add('b')
  const second = await TestService.start(options, world, machine)
  const report = JSON.stringify((await second.ask('GET', '/admin/durability')).fields()['places'])
  assert.match(report, /not at drives\/b; mount it again/)
  for (const body of OBJECTS) assert.ok((await second.ask('GET', `/o/${addressOf(body)}`)).body.equals(body))
  drives.gone.clear()
  await second.sleep(10_000)
  assert.equal(second.parts.drives.open.length, 3)
  await second.stop()
})

test('a node away for longer than deletes are kept is told to come back empty, does, and is filled again', async () => {
  const nodes = await new Nodes(['a', 'b', 'c'], {
    pools: { get: 2, put: 2, repair: 2 },
    durability: { ...QUICK, tombstone_keep: '30s' },
  }).start()
  for (const body of OBJECTS) assert.equal((await nodes.at('a').ask('POST', '/o', { body })).status, 201)
  nodes.world.network.links.partition(['c'], ['a', 'b'])
  await nodes.sleep(20_000)
  const [deleted, ...kept] = OBJECTS
  assert.equal((await nodes.at('b').ask('DELETE', `/o/${addressOf(deleted!)}`)).status, 204)
  await nodes.sleep(40_000)
  nodes.world.network.links.heal()
  await nodes.sleep(20_000)
  assert.equal(nodes.at('c').parts.drives.all[0]?.emptied, 1, 'the one that is alone gives way')
  for (const name of ['a', 'b']) assert.equal(nodes.at(name).parts.drives.all[0]?.emptied, 0)
  for (const name of nodes.names) {
    isProblem(await nodes.at(name).ask('GET', `/o/${addressOf(deleted!)}`), 404, 'not_found')
    for (const body of kept) assert.ok((await nodes.at(name).ask('GET', `/o/${addressOf(body)}`)).body.equals(body))
  }
  await nodes.stop()
})
