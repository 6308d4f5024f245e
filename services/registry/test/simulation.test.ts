import assert from 'node:assert/strict'
import { test } from 'node:test'
import { simulateRegistry } from './simulation.ts'

const OPTIONS = { operations: 2, faultRate: 0 }

test('50 seeds of clients with power cuts: nothing acknowledged is lost, nothing is committed twice', async () => {
  for (let seed = 1; seed <= 50; seed += 1) await simulateRegistry(seed, OPTIONS)
})

test('the same with a drive that fails now and then', async () => {
  for (let seed = 101; seed <= 106; seed += 1) await simulateRegistry(seed, { ...OPTIONS, faultRate: 0.01 })
})

test('one seed is one run', async () => {
  const [first, again, other] = [
    await simulateRegistry(1, OPTIONS),
    await simulateRegistry(1, OPTIONS),
    await simulateRegistry(2, OPTIONS),
  ]
  assert.deepEqual(first, again)
  assert.notEqual(first.traceHash, other.traceHash)
})
