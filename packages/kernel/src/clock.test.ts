import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { SystemClock, VirtualClock } from './clock.ts'
import { SeededRandom, SystemRandom } from './random.ts'

test('virtual timers fire in order of due time, then of creation, and never when canceled', () => {
  const timer = fc.record({ delay: fc.nat(50), cancel: fc.boolean() })
  fc.assert(
    fc.property(fc.array(timer, { maxLength: 200 }), (timers) => {
      const clock = new VirtualClock()
      const fired: { at: number; index: number }[] = []
      const handles = timers.map(({ delay }, index) => clock.timer(delay, () => fired.push({ at: clock.now(), index })))
      timers.forEach(({ cancel }, index) => {
        if (cancel) handles[index]?.cancel()
      })
      const expected = timers
        .map(({ delay, cancel }, index) => ({ at: delay, index, cancel }))
        .filter(({ cancel }) => !cancel)
        .sort((a, b) => a.at - b.at || a.index - b.index)
        .map(({ at, index }) => ({ at, index }))
      clock.advance(100)
      assert.deepEqual(fired, expected)
      assert.equal(clock.pending(), 0)
      assert.equal(clock.now(), 100)
    }),
  )
})

test('a timer set by a timer fires in the same advance if it is due', () => {
  const clock = new VirtualClock()
  const fired: number[] = []
  clock.timer(10, () => clock.timer(5, () => fired.push(clock.now())))
  clock.advance(20)
  assert.deepEqual(fired, [15])
})

test('a wall clock jump moves no timer', () => {
  const clock = new VirtualClock(1_000)
  let fired = false
  clock.timer(10, () => {
    fired = true
  })
  clock.jumpWall(3_600_000)
  assert.equal(clock.wall(), 3_601_000)
  clock.advance(9)
  assert.equal(fired, false)
})

test('the system clock fires, cancels, and counts what is pending', async () => {
  const clock = new SystemClock()
  const canceled = clock.timer(60_000, () => assert.fail('canceled timers do not fire'))
  const far = clock.timer(3e9, () => assert.fail('a delay above 2³¹ ms must not wrap to now'))
  await new Promise<void>((resolve) => clock.timer(1, resolve))
  assert.equal(clock.pending(), 2)
  canceled.cancel()
  canceled.cancel()
  far.cancel()
  assert.equal(clock.pending(), 0)
})

test('one seed gives one sequence, spread over its range', () => {
  const draw = (seed: number): number[] => {
    const random = new SeededRandom(seed)
    return Array.from({ length: 1_000 }, () => random.next())
  }
  assert.deepEqual(draw(7), draw(7))
  assert.notDeepEqual(draw(7), draw(8))
  const mean = draw(7).reduce((sum, value) => sum + value, 0) / 1_000
  assert.ok(mean > 0.45 && mean < 0.55, String(mean))
  assert.deepEqual(new SeededRandom(7).bytes(16), new SeededRandom(7).bytes(16))
  const { length } = new SystemRandom().bytes(16)
  assert.equal(length, 16)
  const value = new SystemRandom().next()
  assert.ok(value >= 0 && value < 1)
})
