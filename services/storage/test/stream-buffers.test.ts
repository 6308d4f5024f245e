/** Two chunks of a stream are in memory; neither is overwritten while a slow drive still has to write it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressOf } from '@cairn/wire'
import { gated, gates } from './gated-disk.ts'
import { noise, TestService } from './harness.ts'
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
