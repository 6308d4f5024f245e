import assert from 'node:assert/strict'
import { test } from 'node:test'
import { leaks } from '@cairn/kernel/testing'
import { KadNetwork, percentile, tell } from './kad-network.ts'

const NODES = Number(process.env['CAIRN_KAD_NODES'] ?? 100)
const OBJECTS = Number(process.env['CAIRN_KAD_OBJECTS'] ?? 8)

test(`${NODES} DHT nodes find every object in at most 5 hops, and still after a fifth of them is killed`, async (t) => {
  const network = new KadNetwork(2, 10_000)
  await network.grow(NODES)
  const all = network.members
  await network.provide(OBJECTS)
  const before = await network.search(2)
  t.diagnostic(tell(`${NODES} nodes`, before))
  const killed = await network.kill(0.2)
  const after = await network.search(2)
  t.diagnostic(tell(`${killed} of ${NODES} killed`, after))
  await network[Symbol.asyncDispose]()
  for (const { tried, found, hops } of [before, after]) {
    assert.ok(tried >= OBJECTS)
    assert.equal(found, tried)
    assert.ok(percentile(hops, 0.99) <= 5)
  }
  for (const { peer } of all) assert.deepEqual(leaks(peer.runtime), [])
})
