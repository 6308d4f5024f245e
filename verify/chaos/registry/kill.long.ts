import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { POINTS, runKills, tell } from './kill.ts'

const ROUNDS = 9
/** Each round: every named point and as many random moments. */
const PLANS = Array.from({ length: ROUNDS }, () => POINTS.flatMap((point) => [point, undefined])).flat()

describe('kill -9 of a registry, hundreds of times', { concurrency: 2 }, () => {
  for (const seed of [1_000, 2_000]) {
    test(`${PLANS.length} kills on one directory, seed ${seed}`, async (t) => {
      const report = await runKills(PLANS, seed)
      t.diagnostic(tell(report))
      for (const point of POINTS) assert.ok((report.at.get(point) ?? 0) > 0, `no kill came at ${point}`)
    })
  }
})
