import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { virtualRuntime } from '@cairn/kernel/testing'
import type { Address } from '@cairn/wire'
import fc from 'fast-check'
import { addressNamed, METRICS } from '../test/peer.ts'
import { ProviderRecordStore, type RecordStoreLimits } from './provider-record-store.ts'
import type { SignedProviderRecord } from './record.ts'

const LIMITS: RecordStoreLimits = { providersPerKey: 3, keysPerPeer: 4, records: 8 }

function setup(limits = LIMITS) {
  const runtime = virtualRuntime(1, METRICS)
  const wallS = runtime.clock.wall() / 1000
  const store = new ProviderRecordStore(runtime, limits)
  const record = (key: string, publisher: string, seq = 1, lifeS = 100): SignedProviderRecord => {
    const cid: Address = addressNamed(key)
    return { cid, publisher, seq, exp: wallS + lifeS, http: ['https://a.example'], bytes: new Uint8Array() }
  }
  const refused = (state: string): number => runtime.metrics.value('provider_records_total', { state })
  return { ...runtime, store, record, refused }
}

describe('a record store', () => {
  test('keeps the newest record of a publisher and refuses older ones', () => {
    const { store, record, refused } = setup()
    assert.equal(store.put(record('x', 'a', 2)), 'accepted')
    assert.equal(store.put(record('x', 'a', 1)), 'stale')
    assert.equal(store.put(record('x', 'a', 2)), 'stale')
    assert.equal(store.put(record('x', 'a', 3)), 'accepted')
    assert.deepEqual(
      store.get(addressNamed('x')).map(({ seq }) => seq),
      [3],
    )
    assert.equal(store.size, 1)
    assert.equal(refused('stale'), 2)
  })

  test('refuses newcomers for a full key until one of its records expires', async () => {
    const { store, record, refused, clock } = setup()
    store.put(record('x', 'a', 1, 10))
    for (const publisher of ['b', 'c']) store.put(record('x', publisher))
    assert.equal(store.put(record('x', 'd')), 'key_full')
    assert.equal(refused('key_full'), 1)
    assert.equal(store.put(record('x', 'b', 2)), 'accepted')
    await clock.run(10_000)
    assert.equal(store.put(record('x', 'd')), 'accepted')
    assert.deepEqual(
      store.get(addressNamed('x')).map(({ publisher }) => publisher),
      ['b', 'c', 'd'],
    )
  })

  test('refuses a publisher its fifth key, and everybody once it is full', () => {
    const { store, record, refused } = setup()
    for (const key of ['p', 'q', 'r', 's']) assert.equal(store.put(record(key, 'a')), 'accepted')
    assert.equal(store.put(record('t', 'a')), 'peer_full')
    for (const key of ['p', 'q', 'r', 's']) assert.equal(store.put(record(key, 'b')), 'accepted')
    assert.equal(store.put(record('t', 'c')), 'store_full')
    assert.equal(refused('peer_full'), 1)
    assert.equal(refused('store_full'), 1)
    store.delete(addressNamed('p'), 'a')
    assert.equal(store.put(record('t', 'a')), 'accepted')
  })

  test('forgets what has expired, by the wall clock', () => {
    const { store, record, clock } = setup()
    store.put(record('x', 'a', 1, 10))
    store.put(record('y', 'a', 1, 20))
    clock.jumpWall(15_000)
    assert.deepEqual(store.get(addressNamed('x')), [])
    assert.equal(store.put(record('x', 'b', 1, 5)), 'stale')
    clock.jumpWall(15_000)
    store.sweep()
    assert.equal(store.size, 0)
    assert.deepEqual([...store], [])
  })

  test('holds 64 publishers for a key and 10 000 keys for a publisher', () => {
    const { store, record } = setup({ providersPerKey: 64, keysPerPeer: 10_000, records: 200_000 })
    for (let peer = 0; peer < 100; peer += 1) store.put(record('x', `peer ${peer}`))
    assert.equal(store.get(addressNamed('x')).length, 64)
    for (let key = 0; key < 10_050; key += 1) store.put(record(`key ${key}`, 'greedy'))
    assert.equal(store.size, 64 + 10_000)
  })

  test('never passes a bound and never loses count, whatever comes', () => {
    const step = fc.record({
      key: fc.constantFrom('p', 'q', 'r', 's', 't', 'u'),
      publisher: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
      seq: fc.integer({ min: 1, max: 4 }),
      lifeS: fc.integer({ min: 1, max: 30 }),
      what: fc.constantFrom('put', 'put', 'put', 'delete', 'pass', 'sweep'),
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const { store, record, clock } = setup()
        for (const { key, publisher, seq, lifeS, what } of steps) {
          if (what === 'put') store.put({ ...record(key, publisher, seq), exp: clock.wall() / 1000 + lifeS })
          if (what === 'delete') store.delete(addressNamed(key), publisher)
          if (what === 'pass') clock.jumpWall(lifeS * 500)
          if (what === 'sweep') store.sweep()
          const all = [...store]
          assert.equal(all.length, store.size)
          assert.ok(all.length <= LIMITS.records)
          for (const one of ['a', 'b', 'c', 'd', 'e']) {
            assert.ok(all.filter((kept) => kept.publisher === one).length <= LIMITS.keysPerPeer)
          }
          for (const one of ['p', 'q', 'r', 's', 't', 'u']) {
            const living = store.get(addressNamed(one))
            assert.ok(living.length <= LIMITS.providersPerKey)
            assert.ok(living.every(({ exp }) => exp * 1000 > clock.wall()))
          }
        }
      }),
    )
  })
})
