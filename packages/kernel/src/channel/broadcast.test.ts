import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isKind } from '../errors.ts'
import { virtualRuntime } from '../runtime.ts'
import { Broadcast } from './broadcast.ts'
import { createBroadcast } from './broadcast-core.ts'

test('a broadcast keeps at least one value', () => {
  for (const capacity of [0, -1, 1.5, Number.NaN]) assert.throws(() => createBroadcast(capacity), RangeError)
  assert.equal(createBroadcast(1).state, 'open')
})

test('publishing is answered with whether anybody can still hear', () => {
  const broadcast = new Broadcast<number>(virtualRuntime(), { name: 'events', capacity: 1 })
  assert.equal(broadcast.publish(1), true)
  broadcast.close()
  assert.equal(broadcast.publish(2), false)
})

test('subscribers are counted while they listen, and leave once', () => {
  const broadcast = new Broadcast<number>(virtualRuntime(), { name: 'events', capacity: 1 })
  const [first, second] = [broadcast.subscribe(), broadcast.subscribe()]
  assert.equal(broadcast.facts().subscribers, 2)
  first[Symbol.dispose]()
  first[Symbol.dispose]()
  assert.equal(broadcast.facts().subscribers, 1)
  second[Symbol.dispose]()
  assert.equal(broadcast.facts().subscribers, 0)
  broadcast.close()
})

test('who waits when the broadcast closes learns it', async () => {
  const broadcast = new Broadcast<number>(virtualRuntime(), { name: 'events', capacity: 1 })
  using subscription = broadcast.subscribe()
  const heard = subscription.recv()
  broadcast.close()
  assert.deepEqual(await heard, { tag: 'closed' })
})

test('an iteration hears what is published while it waits, until the close', async () => {
  const broadcast = new Broadcast<number>(virtualRuntime(), { name: 'events', capacity: 2 })
  using subscription = broadcast.subscribe()
  const heard: unknown[] = []
  const all = (async () => {
    for await (const next of subscription) heard.push(next)
  })()
  broadcast.publish(1)
  broadcast.publish(2)
  broadcast.close()
  await all
  assert.deepEqual(heard, [
    { tag: 'value', value: 1 },
    { tag: 'value', value: 2 },
  ])
})

test('an iteration over a closed broadcast has nothing to say', async () => {
  const broadcast = new Broadcast<number>(virtualRuntime(), { name: 'events', capacity: 2 })
  using subscription = broadcast.subscribe()
  broadcast.close()
  for await (const heard of subscription) assert.fail(`heard ${heard.tag}`)
})

test('a canceled subscriber hears nothing, even of what is there', async () => {
  const broadcast = new Broadcast<number>(virtualRuntime(), { name: 'events', capacity: 2 })
  using subscription = broadcast.subscribe()
  broadcast.publish(1)
  await assert.rejects(subscription.recv({ signal: AbortSignal.abort() }), (error) => isKind(error, 'Canceled'))
  assert.deepEqual(subscription.tryReceive(), { tag: 'value', value: 1 })
  broadcast.close()
})

test('what is lost is logged with the topic and who lost it', () => {
  const runtime = virtualRuntime()
  const broadcast = new Broadcast<number>(runtime, { name: 'events', capacity: 1 })
  using subscription = broadcast.subscribe(undefined, 'indexer')
  for (let value = 0; value < 3; value += 1) broadcast.publish(value)
  subscription.tryReceive()
  assert.deepEqual(runtime.log.lines, [
    {
      level: 'warn',
      fields: { topic: 'events', consumer: 'indexer', count: 2 },
      message: 'broadcast subscriber lagged',
    },
  ])
  broadcast.close()
})
