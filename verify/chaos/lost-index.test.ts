import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sleep } from '@cairn/kernel'
import type { Disk, DiskFile } from '@cairn/platform'
import { Storage } from '@cairn/store'
import { addressOf } from '@cairn/wire'
import { encodeObject } from '../../packages/store/src/object/object-record.ts'
import { KIND } from '../../packages/store/src/store.ts'
import { type ServiceOptions, TestService } from '../../services/storage/test/harness.ts'
import { wrapDisk, wrapFile } from '../virtual/disk/wrapped-disk.ts'
import type { VirtualPlatform } from '../virtual/machine.ts'
import { noise } from '../virtual/noise.ts'
import { VirtualWorld } from '../virtual/world.ts'
import { LOAD_OPTIONS } from './storage-load.ts'

const CONFIG: ServiceOptions = {
  config: { upload_lease: '1s', durability: { sweep_interval: '1s' }, segment_bytes: '2MiB' },
}
const SIZE = 200_000
/** Chunks of an object of this size, and the page that lists them. */
const CHUNKS_EACH = 5

function object(number: number): Buffer {
  return noise(SIZE, number)
}

async function removeAll(service: TestService, numbers: readonly number[]): Promise<void> {
  for (const number of numbers)
    assert.equal((await service.ask('DELETE', `/o/${addressOf(object(number))}`)).status, 204)
}

/** Reads take so long that the index is written while it is rebuilt. */
function slowly(platform: VirtualPlatform): VirtualPlatform {
  const { clock, disk } = platform
  const slowFile = (file: DiskFile): DiskFile =>
    wrapFile(file, {
      read: async (position, into) => {
        await sleep(clock, 100)
        return await file.read(position, into)
      },
    })
  const open: Disk['open'] = async (path, options) => slowFile(await disk.open(path, options))
  return { ...platform, disk: wrapDisk(disk, { open }) }
}

test('after the index was lost, what nobody needs is swept as before, and nothing is called damaged', async () => {
  const service = await TestService.start(CONFIG)
  for (let number = 1; number <= 30; number += 1) {
    assert.equal((await service.ask('POST', '/o?stream', { body: object(number) })).status, 201)
  }
  await removeAll(service, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
  await service.sleep(10_000)
  assert.equal(service.metric('swept_chunks_total'), 10 * CHUNKS_EACH)
  service.machine.kill()

  service.machine.shelves.lose()
  const again = await TestService.start({ ...CONFIG, wrap: slowly }, service.world, service.machine)
  await again.sleep(10_000)
  await removeAll(again, [11, 12, 13, 14, 15])
  await again.sleep(10_000)
  assert.equal(again.metric('swept_chunks_total'), 5 * CHUNKS_EACH)
  for (let number = 16; number <= 30; number += 1) {
    assert.ok((await again.ask('GET', `/o/${addressOf(object(number))}`)).body.equals(object(number)))
  }
  assert.deepEqual(
    again.platform.log.lines.filter(({ level }) => level === 'error'),
    [],
  )
  await again.stop()
})

test('an object that was removed while the index was being written is not called damaged', async () => {
  const world = new VirtualWorld(1)
  const platform = world.machine('node').start()
  await world.run(
    (async () => {
      const storage = await Storage.open(platform, LOAD_OPTIONS)
      const page = platform.random.bytes(32)
      const inline = encodeObject({ size: SIZE, type: 'text/plain', chunkSize: 65_536, pages: page, version: 0 })
      const after = { lsn: 1, isTombstone: false, place: { segment: 1, offset: 128, length: inline.length }, inline }
      // The batch under way still has it; what the journal said later is known, and its page is long gone.
      const change = { kind: KIND.object, id: platform.random.bytes(32), before: undefined, after }
      const slices = []
      for await (const slice of storage.references.derive(change)) slices.push(...slice)
      assert.equal(slices.length, 1, 'the keys are looked at again')
      assert.deepEqual(
        platform.log.lines.filter(({ level }) => level === 'error'),
        [],
      )
      await storage.close()
      await platform.workers.close()
    })(),
  )
  assert.deepEqual(world.leaks(), [])
})
