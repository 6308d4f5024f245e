import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isKind } from '@cairn/kernel'
import { DriveStore } from '@cairn/store'
import { addressOf } from '@cairn/wire'
import { TestService } from '../../services/storage/test/harness.ts'
import { noise } from '../virtual/noise.ts'
import { VirtualWorld } from '../virtual/world.ts'
import { find, LOAD_OPTIONS, put, remove, thingOf } from './storage-load.ts'

const CAPACITY_BYTES = 240 * 1024

/** Puts chunks until the disk is full; returns the names that are there. */
async function fill(storage: DriveStore): Promise<string[]> {
  const names: string[] = []
  for (let number = 0; ; number += 1) {
    const thing = thingOf(`chunk fill ${number}`)
    try {
      await put(storage, thing)
      names.push(thing.name)
    } catch (error) {
      assert.ok(isKind(error, 'StorageBusy') && error.status === 507, String(error))
      return names
    }
  }
}

test('a full disk answers 507, goes on reading, and is freed by deletes', async () => {
  const world = new VirtualWorld(1)
  const machine = world.machine('node', { capacityBytes: CAPACITY_BYTES })
  const platform = machine.start()
  await world.run(
    (async () => {
      const storage = await DriveStore.open(platform, LOAD_OPTIONS)
      const names = await fill(storage)
      assert.ok(names.length > 50)
      assert.equal(storage.facts().unready, undefined, 'the reserve keeps the store itself working')
      for (const name of names) assert.equal(await find(storage, name), 'present')
      for (const name of names.slice(4)) await remove(storage, thingOf(name))
      let freedBytes = 0
      for (;;) {
        const report = await storage.compactor.compactOne()
        if (report === undefined) break
        freedBytes += report.freedBytes
      }
      assert.ok(freedBytes > CAPACITY_BYTES / 2, `${freedBytes} bytes freed`)
      for (const [at, name] of names.entries()) assert.equal(await find(storage, name), at < 4 ? 'present' : 'absent')
      assert.ok((await fill(storage)).length > 50)
      await storage.close()
      await platform.workers.close()
    })(),
  )
  assert.deepEqual(world.leaks(), [])
})

test('when others take the last byte, the store is unready until there is room, and then recovers by itself', async () => {
  const world = new VirtualWorld(2)
  const machine = world.machine('node', { capacityBytes: CAPACITY_BYTES })
  const platform = machine.start()
  await world.run(
    (async () => {
      const storage = await DriveStore.open(platform, LOAD_OPTIONS)
      const [first, second] = [thingOf('chunk first'), thingOf('chunk second')]
      await put(storage, first)
      machine.drive.capacityBytes = 0
      await assert.rejects(remove(storage, first), { status: 507 })
      await assert.rejects(put(storage, second), { status: 507 })
      assert.notEqual(storage.facts().unready, undefined)
      assert.equal(await find(storage, first.name), 'present')
      machine.drive.capacityBytes = CAPACITY_BYTES
      await world.sleep(6_000)
      assert.equal(storage.facts().unready, undefined)
      await put(storage, second)
      await remove(storage, first)
      await storage.close()
      const again = await DriveStore.open(platform, LOAD_OPTIONS)
      assert.equal(await find(again, first.name), 'absent')
      assert.equal(await find(again, second.name), 'present')
      await again.close()
      await platform.workers.close()
    })(),
  )
  assert.deepEqual(world.leaks(), [])
})

test('over HTTP, a full disk is freed by nothing but deletes, and takes as much again', async () => {
  const service = await TestService.start({
    config: {
      segment_bytes: '2MiB',
      reserve_bytes: '4MiB',
      cache_bytes: 0,
      upload_lease: '1s',
      durability: { sweep_interval: '1s' },
    },
  })
  service.machine.drive.capacityBytes = 24 * 1024 * 1024
  const fillUp = async (from: number): Promise<Buffer[]> => {
    const stored: Buffer[] = []
    for (let number = from; ; number += 1) {
      const body = noise(300_000, number)
      const { status, code } = await service.ask('POST', '/o', { body })
      if (status === 201) stored.push(body)
      else {
        assert.equal(`${status} ${code}`, '507 no_space')
        return stored
      }
    }
  }
  const first = await fillUp(1)
  assert.ok(first.length > 50, String(first.length))
  const [kept, ...removed] = first
  for (const body of removed) assert.equal((await service.ask('DELETE', `/o/${addressOf(body)}`)).status, 204)
  await service.sleep(30_000)
  const second = await fillUp(1001)
  assert.ok(second.length > 0.9 * first.length, `${first.length} at first, then ${second.length}`)
  for (const body of [kept, ...second]) {
    assert.ok(body !== undefined && (await service.ask('GET', `/o/${addressOf(body)}`)).body.equals(body))
  }
  await service.stop()
})
