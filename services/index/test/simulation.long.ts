import { test } from 'node:test'
import { simulateIndex } from './simulation.ts'

test('1000 seeds of clients, bad weather and power cuts', async () => {
  for (let seed = 1; seed <= 1000; seed += 1) await simulateIndex(seed, { operations: 12 })
})
