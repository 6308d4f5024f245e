import assert from 'node:assert/strict'
import { test } from 'node:test'
import { simulateDrives, simulateNodes } from './copies-simulation.ts'

/** Faults that were planted (`copies-mutants.long.ts`) show by seed 13 of drives and seed 1 of nodes; one, by seed 127. */
const [DRIVE_SEEDS, NODE_SEEDS] = process.env['CAIRN_LONG'] === '1' ? [150, 200] : [75, 30]

test(`${DRIVE_SEEDS} seeds of three drives: losses, rot and power cuts take nothing that was told`, async () => {
  for (let seed = 1; seed <= DRIVE_SEEDS; seed += 1) await simulateDrives(seed)
})

test(`${NODE_SEEDS} seeds of three nodes: the same with partitions`, async () => {
  for (let seed = 1; seed <= NODE_SEEDS; seed += 1) await simulateNodes(seed)
})

test('one seed is one run', async () => {
  const [first, again, other] = [await simulateNodes(1), await simulateNodes(1), await simulateNodes(2)]
  assert.deepEqual(first, again)
  assert.notEqual(first.traceHash, other.traceHash)
})
