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

test('when most of many timers are canceled the rest still fire in order', () => {
  const clock = new VirtualClock()
  const fired: number[] = []
  const delays = Array.from({ length: 500 }, (_, at) => (at * 7919) % 1_009)
  const handles = delays.map((delay) => clock.timer(delay, () => fired.push(delay)))
  handles.forEach((handle, at) => {
    if (at % 7 !== 3) handle.cancel()
  })
  const kept = delays.filter((_, at) => at % 7 === 3)
  assert.equal(clock.pending(), kept.length)
  clock.advance(2_000)
  assert.deepEqual(
    fired,
    kept.toSorted((a, b) => a - b),
  )
})

test('one timer at a time: canceled ones are passed over, and at the end there is nothing to fire', () => {
  const clock = new VirtualClock(1_000)
  assert.equal(clock.nextDue(), undefined)
  assert.equal(clock.fireNext(), false)
  const fired: number[] = []
  const [first, second] = [5, 7].map((delay) => clock.timer(delay, () => fired.push(delay)))
  clock.timer(9, () => fired.push(9))
  clock.timer(-3, () => fired.push(-3))
  first?.cancel()
  assert.equal(clock.nextDue(), 0)
  assert.equal(clock.fireNext(), true)
  assert.equal(clock.nextDue(), 7)
  second?.cancel()
  assert.equal(clock.fireNext(), true)
  assert.equal(clock.fireNext(), false)
  assert.deepEqual([fired, clock.now(), clock.wall(), clock.pending()], [[-3, 9], 9, 1_009, 0])
})

test('promise reactions run before the first timer and after each one', async () => {
  const clock = new VirtualClock()
  const seen: string[] = []
  const reactions: Promise<unknown>[] = []
  const react = (act: () => unknown): unknown => reactions.push(Promise.resolve().then(act))
  react(() => clock.timer(1, () => seen.push('set by a promise')))
  clock.timer(2, () => {
    seen.push('second')
    react(() => seen.push('its promise'))
  })
  clock.timer(3, () => seen.push('third'))
  clock.timer(10, () => seen.push('late'))
  await clock.run(5)
  await Promise.all(reactions)
  assert.deepEqual(seen, ['set by a promise', 'second', 'its promise', 'third'])
  assert.equal(clock.now(), 5)
})

test('timers fire one by one, with every promise reaction before each, while they may and there are any', async () => {
  const clock = new VirtualClock()
  const seen: string[] = []
  const reactions: Promise<void>[] = []
  const react = (name: string): void => {
    const turns = async (): Promise<void> => {
      for (let turn = 0; turn < 10; turn += 1) await Promise.resolve()
      seen.push(name)
    }
    reactions.push(turns())
  }
  for (let number = 0; number < 100; number += 1) {
    clock.timer(number, () => {
      seen.push(`timer ${number}`)
      react(`reaction ${number}`)
    })
  }
  react('before')
  await clock.fireWhile(() => clock.now() < 69)
  const expected = Array.from({ length: 70 }, (_, number) => [`timer ${number}`, `reaction ${number}`])
  assert.deepEqual(seen, ['before', ...expected.flat()])
  await clock.fireWhile(() => true)
  await Promise.all(reactions)
  assert.deepEqual([seen.length, seen.at(-1), clock.pending()], [201, 'reaction 99', 0])
})

test('what a timer throws, or whoever is asked whether to go on, ends it', async () => {
  const clock = new VirtualClock()
  for (const message of ['first', 'second'])
    clock.timer(1, () => {
      throw new Error(message)
    })
  await assert.rejects(
    clock.fireWhile(() => true),
    { message: 'first' },
  )
  await assert.rejects(
    clock.fireWhile(() => {
      throw new Error('no')
    }),
    { message: 'no' },
  )
  assert.equal(clock.pending(), 1)
})

test('a timer of the system clock is canceled for good, and one that is due comes', async () => {
  const clock = new SystemClock()
  clock.timer(0, () => assert.fail('canceled')).cancel()
  const fired = clock.timer(1, () => undefined)
  await new Promise<void>((resolve) => clock.timer(2, resolve))
  fired.cancel()
  assert.equal(clock.pending(), 0)
  assert.ok(clock.wall() > 1_700_000_000_000)
})
