import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createPace, judge, noteBytes, type PaceLimits, startWaiting } from './transfer-pace-core.ts'

const LIMITS: PaceLimits = { pauseMs: 5000, bytesPerSecond: 16_384, windowMs: 30_000 }

interface Step {
  /** How long the peer waited for us. */
  readonly oursMs: number
  /** How long we waited for the peer, and what for. */
  readonly waitMs: number
  readonly bytes: number
}

/** The first verdict other than fine, with the waiting it took to reach it. */
function firstVerdict(steps: readonly Step[]): { readonly verdict: string; readonly waitedMs: number } | undefined {
  const pace = createPace()
  let now = 0
  let waitedMs = 0
  for (const { oursMs, waitMs, bytes } of steps) {
    now += oursMs
    startWaiting(pace, now)
    now += waitMs
    waitedMs += waitMs
    const waiting = judge(pace, LIMITS, now)
    const verdict = waiting === 'fine' ? noteBytes(pace, bytes, LIMITS, now) : waiting
    if (verdict !== 'fine') return { verdict, waitedMs }
  }
  return undefined
}

const due = (waitMs: number): number => Math.ceil((LIMITS.bytesPerSecond * waitMs) / 1000)

const waits = fc.record({ oursMs: fc.integer({ min: 0, max: 600_000 }), waitMs: fc.integer({ min: 0, max: 4999 }) })

test('a peer that keeps the rate is fine, however long we keep it waiting', () => {
  const steady = waits.chain(({ oursMs, waitMs }) =>
    fc.integer({ min: due(waitMs), max: due(waitMs) + 100_000 }).map((bytes): Step => ({ oursMs, waitMs, bytes })),
  )
  fc.assert(
    fc.property(fc.array(steady, { maxLength: 200 }), (steps) => {
      assert.equal(firstVerdict(steps), undefined)
    }),
  )
})

test('a peer below half the rate is found within two windows of waiting', () => {
  const slow = fc
    .integer({ min: 1000, max: 4999 })
    .chain((waitMs) =>
      fc.integer({ min: 0, max: Math.floor(due(waitMs) / 2) - 1 }).map((bytes): Step => ({ oursMs: 0, waitMs, bytes })),
    )
  fc.assert(
    fc.property(fc.array(slow, { minLength: 100, maxLength: 100 }), (steps) => {
      const found = firstVerdict(steps)
      assert.equal(found?.verdict, 'slow')
      assert.ok(found.waitedMs <= 2 * LIMITS.windowMs)
    }),
  )
})

test('a pause is too long exactly from its limit on', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 10_000 }), (waitMs) => {
      const pace = createPace()
      startWaiting(pace, 0)
      assert.equal(judge(pace, LIMITS, waitMs), waitMs >= 5000 ? 'stalled' : 'fine')
    }),
  )
})
