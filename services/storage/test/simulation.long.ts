import { test } from 'node:test'
import { simulateStorage } from './simulation.ts'

for (const faultRate of [0, 0.005, 0.02]) {
  test(`1000 seeds of mixed load with power cuts, ${faultRate} faults a call`, async (t) => {
    for (let seed = 1; seed <= 1000; seed += 1) await simulateStorage(seed, { operations: 25, faultRate })
    t.diagnostic(`1000 seeds of mixed load with power cuts, ${faultRate} faults a call`)
  })
}
