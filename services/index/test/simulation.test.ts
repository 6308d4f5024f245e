import assert from 'node:assert/strict'
import { test } from 'node:test'
import { simulateIndex } from './simulation.ts'

const OPTIONS = { operations: 8 }

test('50 seeds of clients, bad weather and power cuts', async () => {
  for (let seed = 1; seed <= 50; seed += 1) await simulateIndex(seed, OPTIONS)
})

test('one seed is one run', async () => {
  const [first, again, other] = [
    await simulateIndex(1, OPTIONS),
    await simulateIndex(1, OPTIONS),
    await simulateIndex(2, OPTIONS),
  ]
  assert.deepEqual(first, again)
  assert.notEqual(first.traceHash, other.traceHash)
})
