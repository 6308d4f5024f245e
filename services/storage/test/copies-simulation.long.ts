import { test } from 'node:test'
import { simulateDrives, simulateNodes } from './copies-simulation.ts'

test('300 seeds of three drives, four losses each', async () => {
  for (let seed = 1001; seed <= 1300; seed += 1) await simulateDrives(seed, 4)
})

test('200 seeds of three nodes, four losses each', async () => {
  for (let seed = 1001; seed <= 1200; seed += 1) await simulateNodes(seed, 4)
})
