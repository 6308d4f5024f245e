import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { VirtualPlatform } from '../../verify/virtual/machine.ts'
import { simulate } from '../../verify/virtual/simulate.ts'
import { probe } from './service-status.ts'

/** A service that is ready from the n-th question on. */
function readyFrom(platform: VirtualPlatform, nth: number): { readonly asked: () => number } {
  let asked = 0
  platform.listen(80, async () => {
    asked += 1
    const isReady = asked >= nth
    const body = Buffer.from(isReady ? 'ready' : 'the drive is full')
    return await Promise.resolve({ status: isReady ? 200 : 503, headers: [], body })
  })
  return { asked: () => asked }
}

test('a service that is not ready at once is asked again, until it is', async () => {
  await simulate(1, async (world) => {
    const platform = world.machine('node').start()
    const service = readyFrom(platform, 4)
    assert.equal(await probe(platform, 'http://node/'), undefined)
    assert.equal(service.asked(), 4)
    await platform.workers.close()
  })
})

test('one that stays unready has started all the same, and what it said is told', async () => {
  await simulate(1, async (world) => {
    const platform = world.machine('node').start()
    readyFrom(platform, Number.POSITIVE_INFINITY)
    assert.equal(await probe(platform, 'http://node/'), 'the drive is full')
    assert.ok(world.clock.now() <= 2_000)
    await platform.workers.close()
  })
})

test('one whose answers take their time has started too: it is told what it said before the time ran out', async () => {
  await simulate(1, async (world) => {
    const platform = world.machine('node').start()
    platform.listen(80, async () => {
      await world.sleep(150)
      return { status: 503, headers: [], body: Buffer.from('the drive is full') }
    })
    assert.equal(await probe(platform, 'http://node/'), 'the drive is full')
    await platform.workers.close()
  })
})

test('one that does not answer has not started', async () => {
  await simulate(1, async (world) => {
    const platform = world.machine('node').start()
    await assert.rejects(probe(platform, 'http://node/'))
    await platform.workers.close()
  })
})
