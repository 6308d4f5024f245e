import assert from 'node:assert/strict'
import { test } from 'node:test'
import { leaks } from '@cairn/kernel/testing'
import { KadNetwork, percentile, tell } from './kad-network.ts'

test('14 DHT nodes find every object in at most 5 hops, and still after a fifth of them is killed', async (t) => {
  const network = new KadNetwork(1, 1_000)
  await network.grow(14)
  const all = network.members
  await network.provide(4)
  const before = await network.search(2)
  const killed = await network.kill(0.2)
  const after = await network.search(2)
  await network[Symbol.asyncDispose]()
  t.diagnostic(`${tell('14 nodes', before)}; ${tell(`${killed} killed`, after)}`)
  for (const { tried, found, hops } of [before, after]) {
    assert.ok(tried > 0)
    assert.equal(found, tried)
    assert.ok(percentile(hops, 0.99) <= 5)
  }
  for (const { peer } of all) assert.deepEqual(leaks(peer.runtime), [])
})
