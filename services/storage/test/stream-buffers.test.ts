/** Two chunks of a stream are in memory; neither is overwritten while a slow drive still has to write it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DiskFile, OpenOptions } from '@cairn/platform'
import { addressOf } from '@cairn/wire'
import { gated, gates } from '../../../verify/virtual/disk/gated-disk.ts'
import type { VirtualPlatform } from '../../../verify/virtual/machine.ts'
import { noise } from '../../../verify/virtual/noise.ts'
import { TestService } from './harness.ts'
import { CHUNK } from './objects.ts'

/** Four chunks, the second of which the service has: it needs no writing, and the third must wait all the same. */
const CHUNKS = [1, 2, 3, 4].map((seed) => noise(CHUNK, seed))
const KNOWN = CHUNKS[1]!

async function onSlowDrive(
  use: (service: TestService, later: (work: Promise<unknown>) => Promise<void>) => Promise<void>,
) {
  const shut = gates()
  const service = await TestService.start({ wrap: (platform) => gated(platform, shut) })
  await service.ask('POST', '/o', { body: KNOWN })
  shut.writes.shut()
  await use(service, async (work) => {
    await service.world.clock.settle()
    shut.writes.open()
    await service.world.run(work)
  })
  await service.stop()
}

test('a streamed object is what was sent, also where a chunk of it is known', async () => {
  await onSlowDrive(async (service, later) => {
    const whole = Buffer.concat(CHUNKS)
    await later(service.send('POST', '/o?stream', { body: whole }))
    const read = await service.ask('GET', `/o/${addressOf(whole)}`)
    assert.deepEqual([read.status, read.body.equals(whole)], [200, true])
  })
})

test('framed chunks are what was sent, also where one of them is known', async () => {
  await onSlowDrive(async (service, later) => {
    const length = Buffer.alloc(4)
    length.writeUInt32BE(CHUNK)
    await later(service.send('POST', '/c', { body: Buffer.concat(CHUNKS.flatMap((chunk) => [length, chunk])) }))
    for (const chunk of CHUNKS) {
      const read = await service.ask('GET', `/c/${addressOf(chunk)}`)
      assert.deepEqual([read.status, read.body.equals(chunk)], [200, true])
    }
  })
})

test('a read that the drive has not answered keeps its buffer, however late the answer comes', async () => {
  const shut = gates()
  const buffers: ArrayBufferLike[] = []
  const recorded = (platform: VirtualPlatform): VirtualPlatform => {
    const { disk } = platform
    const open = async (path: string, options: OpenOptions): Promise<DiskFile> => {
      const file = await disk.open(path, options)
      const read = async (position: number, into: Uint8Array): Promise<number> => {
        if (into.length === CHUNK) buffers.push(into.buffer)
        return await file.read(position, into)
      }
      return new Proxy(file, { get: (target, key) => (key === 'read' ? read : bound(target, key)) })
    }
    return {
      ...platform,
      disk: new Proxy(disk, { get: (target, key) => (key === 'open' ? open : bound(target, key)) }),
    }
  }
  const config = { cache_bytes: 0, drive_timeout: '1s' }
  const service = await TestService.start({ config, wrap: (platform) => recorded(gated(platform, shut)) })
  const [first, second] = [CHUNKS[0]!, CHUNKS[1]!]
  for (const body of [first, second]) await service.ask('POST', '/o', { body })
  shut.reads.shut()
  assert.equal((await service.ask('GET', `/o/${addressOf(first)}`)).status, 503)
  // From here on the drive answers again, all but the read it still owes.
  shut.reads.shut()
  shut.reads.open()
  const read = await service.ask('GET', `/o/${addressOf(second)}`)
  assert.deepEqual([read.status, read.body.equals(second)], [200, true])
  assert.equal(
    new Set(buffers).size,
    buffers.length,
    'the late answer would go into bytes that are somebody else’s by now',
  )
  await service.stop()
})

function bound(target: object, key: string | symbol): unknown {
  const value: unknown = Reflect.get(target, key)
  return typeof value === 'function' ? value.bind(target) : value
}
