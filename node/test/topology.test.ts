/** What runs in a composed node is what is declared: every task, queue and broadcast of every service, and no other. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EDGE_TOPOLOGY } from '@cairn/edge/testing'
import { INDEX_TOPOLOGY } from '@cairn/index/testing'
import { INTEROP_TOPOLOGY } from '@cairn/interop/testing'
import { compareLive, type LiveEntry, type Topology } from '@cairn/kernel/testing'
import { REGISTRY_TOPOLOGY } from '@cairn/registry/testing'
import { STORAGE_TOPOLOGY } from '@cairn/storage/testing'
import { NODE_TOPOLOGY } from '../src/topology.ts'
import { ask } from './asking.ts'
import { Home } from './running-node.ts'

const TOPOLOGIES: readonly Topology[] = [
  STORAGE_TOPOLOGY,
  INDEX_TOPOLOGY,
  REGISTRY_TOPOLOGY,
  EDGE_TOPOLOGY,
  INTEROP_TOPOLOGY,
  NODE_TOPOLOGY,
]

test('what is alive in each service of a composed node is what its topology declares', async () => {
  await using home = await Home.make()
  const node = home.start({ args: ['--port-base', '0'] })
  const { urls } = await node.ready()
  assert.deepEqual(Object.keys(urls).sort(), TOPOLOGIES.map(({ service }) => service).sort())
  for (const topology of TOPOLOGIES) {
    const { body } = await ask(urls[topology.service]![0]!, '/debug/topology')
    const difference = compareLive(topology, JSON.parse(body) as LiveEntry[])
    assert.deepEqual(difference, { undeclared: [], missing: [] }, topology.service)
  }
  await node.stop()
})
