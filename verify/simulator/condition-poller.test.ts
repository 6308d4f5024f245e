import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { sleep } from '@cairn/kernel'
import { VirtualWorld } from '../virtual/world.ts'
import { ConditionPoller } from './condition-poller.ts'

/** Light that goes on and off at these moments, and when somebody who began to look at `from` saw it on. */
async function seen(switches: readonly number[], from: number, pollsMax?: number) {
  const world = new VirtualWorld(1)
  const { clock } = world
  const poller = new ConditionPoller(clock)
  let isOn = false
  let looks = 0
  for (const at of switches) {
    clock.timer(at, () => {
      isOn = !isOn
      poller.changed()
    })
  }
  const watch = async (): Promise<number> => {
    await sleep(clock, from)
    const isSo = (): boolean => {
      looks += 1
      return isOn
    }
    await poller.until(isSo, 10, pollsMax)
    return clock.now()
  }
  return { at: await world.run(watch()), looks }
}

describe('a poller', () => {
  test('sees what is so at its next look, and not before', async () => {
    assert.equal((await seen([1], 3)).at, 13)
    assert.equal((await seen([25], 3)).at, 33)
  })

  test('misses what was so between two looks only', async () => {
    assert.equal((await seen([4, 12, 55], 3)).at, 63)
  })

  test('goes home after its last look', async () => {
    assert.equal((await seen([500], 3, 5)).at, 53)
    assert.equal((await seen([52], 3, 5)).at, 53)
    assert.equal((await seen([4, 12], 3, 5)).at, 53)
  })

  test('does not look while nothing changes', async () => {
    const { at, looks } = await seen([100_000], 3)
    assert.equal(at, 100_003)
    assert.ok(looks <= 3, `${looks} looks`)
  })
})
