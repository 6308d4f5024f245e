import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type BrownoutCore, createBrownout, judge, sawAnswer, sawCall } from './brownout-core.ts'

const LIMITS = { errorRate: 0.01, upstreamP95Ms: 500 }

function answers(core: BrownoutCore, now: number, good: number, bad: number): void {
  for (let count = 0; count < good; count += 1) sawAnswer(core, now, false)
  for (let count = 0; count < bad; count += 1) sawAnswer(core, now, true)
}

function calls(core: BrownoutCore, now: number, count: number, tookMs: number): void {
  for (let each = 0; each < count; each += 1) sawCall(core, now, tookMs, LIMITS)
}

function stateOf(core: BrownoutCore, now: number, workRatio = 0): string {
  const state = judge(core, now, workRatio, LIMITS)
  return state.tag === 'clear' ? 'clear' : `brown ${state.causes.join(' ')}`.trimEnd()
}

/** What was seen at time 0, and what is said of it. */
const TABLE: readonly (readonly [string, (core: BrownoutCore) => void, string])[] = [
  ['nothing', () => undefined, 'clear'],
  ['1 % of failures is allowed', (core) => answers(core, 0, 990, 10), 'clear'],
  ['more than 1 % is not', (core) => answers(core, 0, 980, 11), 'brown error_rate'],
  ['fewer than 100 answers say nothing', (core) => answers(core, 0, 49, 50), 'clear'],
  ['a twentieth of slow calls is allowed', (core) => [calls(core, 0, 95, 10), calls(core, 0, 5, 500)], 'clear'],
  ['more than a twentieth at 500 ms is not', (core) => [calls(core, 0, 94, 10), calls(core, 0, 6, 500)], 'brown p95'],
  ['calls just below the bound are fast', (core) => calls(core, 0, 100, 499), 'clear'],
  ['fewer than 20 calls say nothing', (core) => calls(core, 0, 19, 5000), 'clear'],
]

for (const [name, seen, expected] of TABLE) {
  test(`brownout: ${name}`, () => {
    const core = createBrownout()
    seen(core)
    assert.equal(stateOf(core, 1000), expected)
  })
}

test('brownout: a queue over 80 % counts once it has been for a minute, without a pause', () => {
  const core = createBrownout()
  assert.equal(stateOf(core, 0, 0.81), 'clear')
  assert.equal(stateOf(core, 59_000, 0.81), 'clear')
  assert.equal(stateOf(core, 59_500, 0.8), 'clear')
  assert.equal(stateOf(core, 60_000, 0.81), 'clear')
  assert.equal(stateOf(core, 119_999, 0.81), 'clear')
  assert.equal(stateOf(core, 120_000, 0.81), 'brown queue_pressure')
})

test('brownout: a cause ends below where it began, and the brownout 30 s after the last', () => {
  const core = createBrownout()
  assert.equal(stateOf(core, 0, 0.9), 'clear')
  assert.equal(stateOf(core, 60_000, 0.9), 'brown queue_pressure')
  assert.equal(stateOf(core, 61_000, 0.7), 'brown queue_pressure')
  assert.equal(stateOf(core, 62_000, 0.6), 'brown queue_pressure')
  assert.equal(stateOf(core, 91_999, 0), 'brown queue_pressure')
  assert.equal(stateOf(core, 92_000, 0), 'clear')
})

test('brownout: after a relapse the 30 s of calm begin anew', () => {
  const core = createBrownout()
  assert.equal(stateOf(core, 0, 0.9), 'clear')
  assert.equal(stateOf(core, 60_000, 0.9), 'brown queue_pressure')
  assert.equal(stateOf(core, 61_000, 0), 'brown queue_pressure', 'calm')
  calls(core, 70_000, 100, 600)
  assert.equal(stateOf(core, 70_001), 'brown p95', 'a relapse')
  assert.equal(stateOf(core, 140_000), 'brown p95', 'calm again')
  assert.equal(stateOf(core, 169_999), 'brown p95')
  assert.equal(stateOf(core, 170_000), 'clear')
})

test('brownout: failures are forgotten after five minutes, slow calls after one', () => {
  const core = createBrownout()
  answers(core, 0, 100, 50)
  calls(core, 0, 100, 900)
  assert.equal(stateOf(core, 1), 'brown error_rate p95')
  assert.equal(stateOf(core, 71_000), 'brown error_rate')
  assert.equal(stateOf(core, 309_000), 'brown error_rate')
  assert.equal(stateOf(core, 311_000), 'brown error_rate')
  assert.equal(stateOf(core, 341_000), 'clear')
})

test('brownout: slow calls end the cause only below four fifths of the bound', () => {
  const core = createBrownout()
  calls(core, 0, 100, 600)
  assert.equal(stateOf(core, 1), 'brown p95')
  calls(core, 65_000, 100, 450)
  assert.equal(stateOf(core, 75_000), 'brown p95')
  calls(core, 140_000, 100, 300)
  assert.equal(stateOf(core, 140_001), 'brown p95')
  assert.equal(stateOf(core, 170_002), 'clear')
})
