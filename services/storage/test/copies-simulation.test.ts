import assert from 'node:assert/strict'
import { test } from 'node:test'
import { simulateDrives, simulateNodes } from './copies-simulation.ts'

test('150 seeds of three drives: losses, rot and power cuts take nothing that was told', async () => {
  for (let seed = 1; seed <= 150; seed += 1) await simulateDrives(seed)
})

test('60 seeds of three nodes: the same with partitions', async () => {
  for (let seed = 1; seed <= 60; seed += 1) await simulateNodes(seed)
})

test('one seed is one run', async () => {
  const [first, again, other] = [await simulateNodes(1), await simulateNodes(1), await simulateNodes(2)]
  assert.deepEqual(first, again)
  assert.notEqual(first.traceHash, other.traceHash)
})
