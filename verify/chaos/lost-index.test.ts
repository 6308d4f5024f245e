import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sleep } from '@cairn/kernel'
import type { Disk, DiskFile } from '@cairn/platform'
import { addressOf } from '@cairn/wire'
import { type ServiceOptions, TestService } from '../../services/storage/test/harness.ts'
import { wrapDisk, wrapFile } from '../virtual/disk/wrapped-disk.ts'
import type { VirtualPlatform } from '../virtual/machine.ts'
import { noise } from '../virtual/noise.ts'

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

  service.machine.loseSideFiles()
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
