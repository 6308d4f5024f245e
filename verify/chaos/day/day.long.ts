import { test } from 'node:test'
import { runHostileDay } from './hostile-day.ts'

test('ten hostile minutes: every service killed five times, four full drives, stalls and reloads, nothing lost', async (t) => {
  await runHostileDay(t, {
    seconds: 600,
    killsEach: 5,
    fulls: 4,
    stalls: 6,
    reloads: 9,
    acknowledgedMin: 50_000,
    seed: 20_261_115,
  })
})
