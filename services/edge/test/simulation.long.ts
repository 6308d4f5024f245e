import { test } from 'node:test'
import { simulateEdge } from './simulation.ts'

test('1000 seeds of failing upstreams and power cuts', async () => {
  for (let seed = 1001; seed <= 2000; seed += 1)
    await simulateEdge(seed, { operations: 12, lives: 4, failureRate: (seed % 4) * 0.25 })
})
