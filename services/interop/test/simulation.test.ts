import assert from 'node:assert/strict'
import { test } from 'node:test'
import { simulateInterop } from './simulation.ts'

const OPTIONS = { operations: 4, faultRate: 0 }

test('50 seeds of senders and consumers with power cuts: every 202 holds, once', async () => {
  for (let seed = 1; seed <= 50; seed += 1) await simulateInterop(seed, OPTIONS)
})

test('the same with a drive that fails now and then', async () => {
  for (let seed = 101; seed <= 106; seed += 1) await simulateInterop(seed, { ...OPTIONS, faultRate: 0.01 })
})

test('one seed is one run', async () => {
  const [first, again, other] = [
    await simulateInterop(1, OPTIONS),
    await simulateInterop(1, OPTIONS),
    await simulateInterop(2, OPTIONS),
  ]
  assert.deepEqual(first, again)
  assert.notEqual(first.traceHash, other.traceHash)
})
