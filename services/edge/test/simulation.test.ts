import assert from 'node:assert/strict'
import { test } from 'node:test'
import { simulateEdge } from './simulation.ts'

test('50 seeds of failing upstreams and power cuts: no answer mixes two, and nothing wrong is kept', async () => {
  for (let seed = 1; seed <= 50; seed += 1)
    await simulateEdge(seed, { operations: 4, lives: 2, failureRate: seed % 2 === 0 ? 0.5 : 0 })
})

test('one seed is one run', async () => {
  const options = { operations: 6, lives: 3, failureRate: 0.3 }
  const [first, again, other] = [
    await simulateEdge(1, options),
    await simulateEdge(1, options),
    await simulateEdge(2, options),
  ]
  assert.deepEqual(first, again)
  assert.notEqual(first.traceHash, other.traceHash)
})
