import { test } from 'node:test'
import { simulateInterop } from './simulation.ts'

for (const faultRate of [0, 0.005, 0.02]) {
  test(`1000 seeds of senders and consumers with power cuts, ${faultRate} faults a call`, async () => {
    for (let seed = 1; seed <= 1000; seed += 1) await simulateInterop(seed, { operations: 12, faultRate })
  })
}
