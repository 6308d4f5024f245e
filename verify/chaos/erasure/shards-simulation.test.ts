import assert from 'node:assert/strict'
import { test } from 'node:test'
import { simulateShards } from './shards-simulation.ts'

const SEEDS = process.env['CAIRN_LONG'] === '1' ? 1000 : 15

test(`${SEEDS} seeds of five drives in 2+2 shards: losses, rot and power cuts take nothing that was told`, async () => {
  for (let seed = 1; seed <= SEEDS; seed += 1) await simulateShards(seed)
})

test('one seed is one run', async () => {
  const [first, again] = [await simulateShards(3), await simulateShards(3)]
  assert.deepEqual(first, again)
})
