import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isKind } from '@cairn/kernel'
import { DriveStore } from '@cairn/store'
import type { VirtualMachine } from '../virtual/machine.ts'
import { VirtualWorld } from '../virtual/world.ts'
import { type Finding, find, LOAD_OPTIONS, put, thingOf } from './storage-load.ts'

const JOURNAL = `${LOAD_OPTIONS.path}/journal`
/** A bit of the salt: any bit of a header will do. */
const BIT = 200

function segments({ drive }: VirtualMachine): string[] {
  const names = drive.list(JOURNAL).map(({ name }) => name)
  return names.filter((name) => name.endsWith('.seg')).map((name) => `${JOURNAL}/${name}`)
}

async function putAll(storage: DriveStore, names: readonly string[]): Promise<void> {
  for (const name of names) await put(storage, thingOf(name))
}

async function findOrDamaged(storage: DriveStore, name: string): Promise<Finding | 'damaged'> {
  try {
    return await find(storage, name)
  } catch (error) {
    if (isKind(error, 'Integrity')) return 'damaged'
    throw error
  }
}

/** Leaves a segment with room in it behind. */
async function sealEarly(world: VirtualWorld, storage: DriveStore, { faults }: VirtualMachine): Promise<void> {
  faults.plan({ operation: 'sync', fault: 'io-error' })
  await assert.rejects(put(storage, thingOf('chunk refused')), { status: 503 })
  while (storage.facts().unready !== undefined) await world.sleep(100)
}

const EARLIER = Array.from({ length: 60 }, (_, at) => `chunk earlier ${at}`)
const AFTER_SEAL = Array.from({ length: 3 }, (_, at) => `chunk after the seal ${at}`)
const LATER = Array.from({ length: 60 }, (_, at) => `chunk later ${at}`)

for (const which of ['oldest', 'newest'] as const) {
  test(`a segment whose header is damaged, the ${which}: what it holds is called damaged, what is put meanwhile stays`, async () => {
    const world = new VirtualWorld(1)
    const machine = world.machine('node')
    const platform = machine.start()
    await world.run(
      (async () => {
        const storage = await DriveStore.open(platform, LOAD_OPTIONS)
        await putAll(storage, EARLIER)
        await sealEarly(world, storage, machine)
        await putAll(storage, AFTER_SEAL)
        await storage.close()
        assert.ok(segments(machine).length > 2)
        const damaged = segments(machine).at(which === 'oldest' ? 0 : -1) ?? ''
        machine.drive.damage(damaged, BIT)

        const blind = await DriveStore.open(platform, LOAD_OPTIONS)
        assert.equal(blind.facts().damagedSegments.length, 1)
        const found = new Set<string>()
        for (const name of [...EARLIER, ...AFTER_SEAL]) found.add(await findOrDamaged(blind, name))
        assert.deepEqual([...found].sort(), ['damaged', 'present'])
        await putAll(blind, LATER)
        await blind.close()

        machine.drive.damage(damaged, BIT)
        machine.loseSideFiles()
        const repaired = await DriveStore.open(platform, LOAD_OPTIONS)
        await repaired.caughtUp()
        for (const name of [...EARLIER, ...AFTER_SEAL, ...LATER])
          assert.equal(await find(repaired, name), 'present', name)
        await repaired.close()
        await platform.workers.close()
      })(),
    )
    assert.deepEqual(world.leaks(), [])
  })
}

test('a segment that somebody took away: what it held is called damaged, not absent, and can be put again', async () => {
  const world = new VirtualWorld(1)
  const machine = world.machine('node')
  const platform = machine.start()
  await world.run(
    (async () => {
      const storage = await DriveStore.open(platform, LOAD_OPTIONS)
      await putAll(storage, EARLIER)
      await storage.close()
      machine.drive.unlink(segments(machine)[0] ?? '')
      const robbed = await DriveStore.open(platform, LOAD_OPTIONS)
      assert.equal(await findOrDamaged(robbed, 'chunk earlier 0'), 'damaged')
      await putAll(robbed, EARLIER)
      for (const name of EARLIER) assert.equal(await findOrDamaged(robbed, name), 'present')
      await robbed.close()
      await platform.workers.close()
    })(),
  )
  assert.deepEqual(world.leaks(), [])
})

test('the only segment there is, its header damaged: the store is still the same one', async () => {
  const world = new VirtualWorld(1)
  const machine = world.machine('node')
  const platform = machine.start()
  await world.run(
    (async () => {
      const storage = await DriveStore.open(platform, LOAD_OPTIONS)
      await putAll(storage, AFTER_SEAL)
      await storage.close()
      const [only = '', ...others] = segments(machine)
      assert.deepEqual(others, [])
      machine.drive.damage(only, BIT)
      const blind = await DriveStore.open(platform, LOAD_OPTIONS)
      for (const name of AFTER_SEAL) assert.equal(await findOrDamaged(blind, name), 'damaged')
      await putAll(blind, LATER)
      await blind.close()
      machine.drive.damage(only, BIT)
      const repaired = await DriveStore.open(platform, LOAD_OPTIONS)
      for (const name of [...AFTER_SEAL, ...LATER]) assert.equal(await find(repaired, name), 'present', name)
      await repaired.close()
      await platform.workers.close()
    })(),
  )
  assert.deepEqual(world.leaks(), [])
})
