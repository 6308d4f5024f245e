import assert from 'node:assert/strict'
import { test } from 'node:test'
import { VirtualClock } from '../clock.ts'
import { TokenBucket } from './token-bucket.ts'
import { createBucket, tryTake, waitMs } from './token-bucket-core.ts'

test('rate and burst are whole numbers above 0, and no more than the burst is ever given', () => {
  for (const wrong of [0, -1, 0.5, 1.5, Number.NaN, 2 ** 53]) {
    assert.throws(() => createBucket({ rate: wrong, burst: 1 }, 0), RangeError)
    assert.throws(() => createBucket({ rate: 1, burst: wrong }, 0), RangeError)
  }
  const bucket = createBucket({ rate: 1, burst: 2 }, 0)
  assert.throws(() => tryTake(bucket, 3, 0), RangeError)
  assert.equal(tryTake(bucket, 2, 0), true)
})

test('a part of a millisecond earns nothing, and is not lost', () => {
  const bucket = createBucket({ rate: 1_000, burst: 1 }, 0.9)
  assert.equal(bucket.filledAt, 0)
  assert.equal(tryTake(bucket, 1, 0.9), true)
  assert.equal(tryTake(bucket, 1, 0.99), false)
  assert.equal(tryTake(bucket, 1, 1), true)
  assert.equal(tryTake(bucket, 1, 1.9), false)
  assert.equal(tryTake(bucket, 1, 2.1), true)
})

test('a clock that stands still or goes back earns nothing and costs nothing', () => {
  const bucket = createBucket({ rate: 1, burst: 10 }, 5_000)
  assert.equal(tryTake(bucket, 10, 5_000), true)
  assert.equal(tryTake(bucket, 1, 1_000), false)
  assert.deepEqual([bucket.level, bucket.filledAt], [0, 5_000])
  assert.equal(waitMs(bucket, 1, 5_000), 1_000)
  assert.equal(waitMs(bucket, 1, 5_999), 1)
  assert.equal(waitMs(bucket, 1, 7_000), 0)
})

test('nobody takes past who waits, and everybody can ask how long it would take', async () => {
  const clock = new VirtualClock()
  const bucket = new TokenBucket(clock, { rate: 10, burst: 10 })
  assert.deepEqual([bucket.tryTake(10), bucket.waitMs(), bucket.waitMs(10)], [true, 100, 1_000])
  const waiting = bucket.take(10)
  await clock.run(500)
  assert.equal(bucket.tryTake(), false)
  await clock.run(500)
  await waiting
  assert.deepEqual([bucket.tryTake(), bucket.waitMs()], [false, 100])
  await clock.run(100)
  assert.deepEqual([bucket.waitMs(), bucket.tryTake()], [0, true])
})
