import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { VirtualClock } from '../clock.ts'
import { isKind } from '../errors.ts'
import { TokenBucket } from './token-bucket.ts'
import * as core from './token-bucket-core.ts'

const shape = fc.record({ rate: fc.integer({ min: 1, max: 1_000 }), burst: fc.integer({ min: 1, max: 100 }) })

test('over any window no more than burst + rate × window is taken', () => {
  const step = fc.record({
    after: fc.double({ min: 0, max: 50, noNaN: true }),
    amount: fc.integer({ min: 1, max: 20 }),
  })
  fc.assert(
    fc.property(shape, fc.array(step, { maxLength: 80 }), ({ rate, burst }, steps) => {
      const bucket = core.createBucket({ rate, burst }, 0)
      const taken: { at: number; amount: number }[] = []
      let now = 0
      for (const { after, amount } of steps) {
        now += after
        if (amount <= burst && core.tryTake(bucket, amount, now)) taken.push({ at: now, amount })
      }
      for (let first = 0; first < taken.length; first += 1) {
        let sum = 0
        for (let last = first; last < taken.length; last += 1) {
          sum += taken[last]!.amount
          // Time is read in whole milliseconds, so a window may seem up to one shorter than it is.
          const window = Math.floor(taken[last]!.at) - Math.floor(taken[first]!.at)
          assert.ok(sum <= burst + (rate * window) / 1_000, `${sum} in ${window} ms`)
        }
      }
    }),
    { numRuns: 1_000 },
  )
})

test('the wait it names is enough, and one millisecond less is not', () => {
  fc.assert(
    fc.property(shape, fc.integer({ min: 1, max: 100 }), (options, wanted) => {
      const amount = Math.min(wanted, options.burst)
      const bucket = core.createBucket(options, 0)
      assert.ok(core.tryTake(bucket, options.burst, 0))
      const wait = core.waitMs(bucket, amount, 0)
      assert.equal(core.tryTake({ ...bucket }, amount, wait - 1), false)
      assert.equal(core.tryTake({ ...bucket }, amount, wait), true)
    }),
  )
})

test('waits are fair: a small taker does not overtake a large one', async () => {
  const clock = new VirtualClock()
  const bucket = new TokenBucket(clock, { rate: 10, burst: 10 })
  assert.equal(bucket.tryTake(10), true)
  const order: string[] = []
  const large = bucket.take(10).then(() => order.push(`large@${clock.now()}`))
  const small = bucket.take(1).then(() => order.push(`small@${clock.now()}`))
  assert.equal(bucket.tryTake(1), false)
  await clock.run(1_100)
  await Promise.all([large, small])
  assert.deepEqual(order, ['large@1000', 'small@1100'])
  assert.equal(clock.pending(), 0)
})

test('a canceled wait takes nothing and lets the next one go on', async () => {
  const clock = new VirtualClock()
  const bucket = new TokenBucket(clock, { rate: 10, burst: 10 })
  bucket.tryTake(10)
  const controller = new AbortController()
  const abandoned = assert.rejects(bucket.take(10, { signal: controller.signal }), (error) => isKind(error, 'Canceled'))
  const next = bucket.take(1)
  await clock.run(50)
  controller.abort()
  await abandoned
  await clock.run(50)
  await next
  assert.equal(clock.now(), 100)
  assert.equal(clock.pending(), 0)
})

test('more than the burst can never be taken, and says so', () => {
  const bucket = new TokenBucket(new VirtualClock(), { rate: 1, burst: 5 })
  assert.throws(() => bucket.tryTake(6), RangeError)
})
