import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { leaks, virtualRuntime } from '../runtime.ts'
import { Broadcast } from './broadcast.ts'
import * as core from './broadcast-core.ts'

test('received + lagged + unread = published, for every reader, at every moment', () => {
  const step = fc.oneof(fc.constant('publish' as const), fc.nat(2))
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 4 }), fc.array(step, { maxLength: 80 }), (capacity, steps) => {
      const broadcast = core.createBroadcast<number>(capacity)
      const readers = [0, 1, 2].map(() => ({ reader: core.subscribe(broadcast), received: [] as number[], lagged: 0 }))
      for (const now of steps) {
        if (now === 'publish') {
          core.publish(broadcast, broadcast.published)
          continue
        }
        const own = readers[now]!
        const heard = core.tryHear(broadcast, own.reader)
        if (heard?.tag === 'value') own.received.push(heard.value)
        if (heard?.tag === 'lagged') own.lagged += heard.missed
        for (const { reader, received, lagged } of readers) {
          assert.equal(received.length + lagged + (broadcast.published - reader.place), broadcast.published)
          assert.deepEqual(
            received,
            [...new Set(received)].sort((a, b) => a - b),
          )
        }
      }
    }),
  )
})

test('a slow subscriber is told once how much it lost, and the metric counts it', async () => {
  const runtime = virtualRuntime()
  const broadcast = new Broadcast<number>(runtime, { name: 'events', capacity: 2 })
  using slow = broadcast.subscribe()
  for (let value = 1; value <= 5; value += 1) broadcast.publish(value)
  broadcast.close()
  const heard: unknown[] = []
  for await (const next of slow) heard.push(next)
  assert.deepEqual(heard, [
    { tag: 'lagged', missed: 3 },
    { tag: 'value', value: 4 },
    { tag: 'value', value: 5 },
  ])
  assert.equal(runtime.metrics.value('bus_lagged_total', { topic: 'events', consumer: 'listener' }), 3)
  assert.equal(broadcast.facts().lost, 3)
  assert.equal(broadcast.publish(6), false)
  assert.deepEqual(leaks(runtime), [])
})

test('a subscriber hears only what is published after it came, and waits for it', async () => {
  const broadcast = new Broadcast<string>(virtualRuntime(), { name: 'events', capacity: 4 })
  broadcast.publish('before')
  using subscription = broadcast.subscribe()
  const heard = subscription.recv()
  broadcast.publish('after')
  assert.deepEqual(await heard, { tag: 'value', value: 'after' })
  broadcast.close()
})
