import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createSlidingWindow, record, SPAN_MS, waitMs } from './sliding-window-core.ts'

const BUDGET = 100

/** What counts at this moment. */
function moved(moves: readonly { readonly at: number; readonly bytes: number }[], now: number): number {
  return moves.filter(({ at }) => now - at <= SPAN_MS).reduce((sum, { bytes }) => sum + bytes, 0)
}

test('whoever waits as long as it says moves as soon as no second has more than the budget, or alone', () => {
  const steps = fc.array(fc.record({ afterMs: fc.nat({ max: 1300 }), bytes: fc.integer({ min: 1, max: 130 }) }))
  fc.assert(
    fc.property(steps, (all) => {
      const last = createSlidingWindow(BUDGET)
      const moves: { at: number; bytes: number }[] = []
      let now = 0.5
      for (const { afterMs, bytes } of all) {
        now += afterMs
        const wait = waitMs(last, bytes, now)
        const fits = (at: number): boolean => moved(moves, at) + bytes <= BUDGET || moved(moves, at) === 0
        assert.ok(fits(now + wait))
        if (wait > 0) assert.ok(!fits(now + wait - 1), 'no longer than it has to be')
        now += wait
        record(last, bytes, now)
        moves.push({ at: now, bytes })
      }
    }),
  )
})
