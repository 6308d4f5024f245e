import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { VirtualClock } from '@cairn/kernel/testing'
import { PeerMetrics } from '../test/peer.ts'
import { KadDatastore } from './kad-datastore.ts'

type Key = Parameters<KadDatastore['put']>[0]

const VALUE = Uint8Array.of(1)

/** As much of the library's keys as a store looks at. */
function key(text: string): Key {
  return { toString: () => text } as Key
}

/** Puts without waiting for the turn of the entries before it. */
function tell(store: KadDatastore, told: Key, value: Uint8Array): void {
  Promise.resolve(store.put(told, value)).catch(assert.ifError)
}

function setup() {
  const metrics = new PeerMetrics()
  const clock = new VirtualClock()
  const store = new KadDatastore({ clock, metrics, self: 'us', peerName: (id) => `name-${id}` })
  return { clock, metrics, store }
}

describe('what the DHT keeps for others', () => {
  test('is found by its key, and gone when deleted', () => {
    const { store } = setup()
    tell(store, key('/dht/provider/k/a'), VALUE)
    tell(store, key('/dht/provider/k/b'), VALUE)
    tell(store, key('/dht/provider/kk/c'), VALUE)
    assert.deepEqual(
      [...store.query({ prefix: '/dht/provider/k' })].map((pair) => String(pair.key)),
      ['/dht/provider/k/a', '/dht/provider/k/b'],
    )
    assert.equal([...store.query({ prefix: '/dht/provider' })].length, 3)
    store.delete(key('/dht/provider/k/a'))
    assert.equal(store.has(key('/dht/provider/k/a')), false)
    assert.throws(() => store.get(key('/dht/provider/k/a')), { name: 'NotFoundError' })
    assert.deepEqual(store.get(key('/dht/provider/k/b')), VALUE)
    assert.deepEqual([...store.query({ prefix: '/dht/provider/none' })], [])
  })

  test('is 64 providers for a key, and ours beside them', () => {
    const { store, metrics } = setup()
    for (let peer = 0; peer < 100; peer += 1) tell(store, key(`/dht/provider/k/peer${peer}`), VALUE)
    tell(store, key('/dht/provider/k/us'), VALUE)
    assert.equal([...store.query({ prefix: '/dht/provider/k' })].length, 65)
    assert.equal(metrics.refused('key_full'), 36)
  })

  test('is 10 000 keys for a peer; a key it lets go makes room; ours are not counted', () => {
    const { store, metrics } = setup()
    for (let at = 0; at < 10_002; at += 1) {
      tell(store, key(`/dht/provider/k${at}/flood`), VALUE)
      tell(store, key(`/dht/provider/k${at}/us`), VALUE)
    }
    assert.equal(metrics.refused('peer_full'), 2)
    store.delete(key('/dht/provider/k5/flood'))
    tell(store, key('/dht/provider/k10000/flood'), VALUE)
    assert.equal(store.has(key('/dht/provider/k10000/flood')), true)
    assert.equal(store.has(key('/dht/provider/k10001/us')), true)
  })

  test('is no values, and no provider that is not among the peers once those are full', () => {
    const { store, metrics } = setup()
    tell(store, key('/dht/record/x'), VALUE)
    assert.equal(store.has(key('/dht/record/x')), false)
    for (let peer = 0; peer < 10_001; peer += 1) tell(store, key(`/peers/name-${peer}`), VALUE)
    assert.equal(store.has(key('/peers/name-10000')), false)
    tell(store, key('/dht/provider/k/17'), VALUE)
    tell(store, key('/dht/provider/k/10000'), VALUE)
    assert.deepEqual([...store.queryKeys({ prefix: '/dht/provider/k' })].map(String), ['/dht/provider/k/17'])
    assert.equal(metrics.refused('store_full'), 2)
  })

  test('is taken one at a time between other work; what is ours, at once', async () => {
    const { clock, store } = setup()
    const order: string[] = []
    assert.ok(!(store.put(key('/dht/provider/k/us'), VALUE) instanceof Promise))
    const told = Promise.resolve(store.put(key('/dht/provider/k/a'), VALUE)).then(() => order.push('told'))
    assert.ok(store.has(key('/dht/provider/k/a')))
    for (let turn = 0; turn < 10; turn += 1) await Promise.resolve()
    order.push('others')
    clock.advance(0)
    await told
    assert.deepEqual(order, ['others', 'told'])
  })
})
