/** What the cache let go of stays away, also when the power goes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DriveStore } from '@cairn/store'
import { VirtualWorld } from '../../../verify/virtual/world.ts'
import { Cas } from '../src/cas/cas.ts'
import { makeEntry } from '../src/cas/entry.ts'
import type { Upstream } from './fake-upstream.ts'
import { FRESH, PASSING, UP_PATH as PATH, TestEdge } from './harness.ts'

test('what a PUT made invalid is not back after a power cut right after its answer', async () => {
  const upstream: Upstream = ({ method }, count) =>
    method === 'PUT' ? {} : { headers: FRESH, body: [`body ${count}`] }
  const world = new VirtualWorld(1)
  const machine = world.machine('node')
  const lives = async (): Promise<void> => {
    const before = await TestEdge.open({ config: PASSING, upstream }, world, machine)
    assert.equal((await before.send('GET', PATH)).body.toString(), 'body 1')
    // The janitor has written the entry down.
    await world.sleep(3000)
    assert.equal((await before.send('PUT', PATH)).status, 200)
    machine.crash()
    const after = await TestEdge.open({ config: PASSING, upstream }, world, machine)
    assert.equal(after.parts.cas.facts().entries, 0)
    assert.equal((await after.send('GET', PATH)).body.toString(), 'body 1')
    assert.equal(after.upstream.requests.length, 1)
    await after.shutDown()
  }
  await world.run(lives())
})

test('an entry that lost a part is not back when somebody else brings that part', async () => {
  const world = new VirtualWorld(1)
  const platform = world.machine('node').start()
  const options = { path: 'cas', bytesMax: 64 * 1024 * 1024, cacheBytes: 1024 * 1024, ioTimeoutMs: 1000 }
  const bytes = Buffer.from('the same bytes')
  const lives = async (): Promise<void> => {
    const first = await Cas.open(platform, options)
    const { id } = await first.keepChunk(bytes)
    const body = { address: id, size: bytes.length, chunks: [id] }
    first.put(makeEntry({ key: 'k', status: 200, headers: {}, selecting: [], requestedAt: 1, receivedAt: 1, body }))
    await first.close()

    const { path, cacheBytes, ioTimeoutMs } = options
    const damaged = await DriveStore.open(platform, { path, cacheBytes, ioTimeoutMs, segmentBytes: 4 * 1024 * 1024 })
    assert.equal(await damaged.chunks.remove(id), true)
    await damaged.close()

    const second = await Cas.open(platform, options)
    assert.equal(second.entriesOf('k').length, 0)
    await second.keepChunk(bytes)
    await second.close()

    const third = await Cas.open(platform, options)
    assert.equal(third.entriesOf('k').length, 0)
    await third.close()
  }
  await world.run(lives())
  await platform.workers.close()
})
