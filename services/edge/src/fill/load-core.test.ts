import assert from 'node:assert/strict'
import { test } from 'node:test'
import { begin, createLoad, end, expectedHeaderMs, expectedWaitMs, headerCame, isTooLate } from './load-core.ts'

function busy(count: number, now = 0) {
  const load = createLoad()
  const fills = Array.from({ length: count }, () => begin(load, now))
  return { load, fills }
}

test('with a free worker nothing waits, and nothing is too late', () => {
  const { load } = busy(63)
  assert.equal(expectedWaitMs(load, 64, 0, 0), 0)
  assert.equal(isTooLate(load, 64, 0, 1, 0), false)
})

test('before any fill has ended it is expected to take a second', () => {
  const { load } = busy(64)
  assert.equal(expectedWaitMs(load, 64, 63, 0), 1000)
  assert.equal(isTooLate(load, 64, 63, 2000, 0), false)
  assert.equal(isTooLate(load, 64, 63, 1999, 0), true)
})

test('the first fill that ends says more than what was expected; the later ones move the average', () => {
  const { load, fills } = busy(12)
  for (const fill of fills.slice(0, 10)) end(load, fill, 50, true)
  assert.equal(load.hold.ms, 50)
  for (const fill of fills.slice(10)) end(load, fill, 150, true)
  assert.equal(Math.round(load.hold.ms), 69)
})

test('fills under way count as soon as they take longer than those before', () => {
  const { load, fills } = busy(65)
  for (const fill of fills.slice(0, 1)) end(load, fill, 10, true)
  assert.equal(expectedWaitMs(load, 64, 63, 10), 10)
  assert.equal(expectedWaitMs(load, 64, 63, 3000), 3000)
  assert.equal(expectedHeaderMs(load, 3000), 3000)
})

test('a long body keeps its worker, and is no reason to think that headers are slow', () => {
  const { load, fills } = busy(2)
  for (const fill of fills) headerCame(load, fill, 20)
  assert.equal(expectedHeaderMs(load, 10_000), 20)
  for (const fill of fills) end(load, fill, 10_000, true)
  assert.deepEqual([load.hold.ms, load.header.ms], [10_000, 20])
})

test('a fill that was cut off counts only if it had taken longer than is expected', () => {
  const { load, fills } = busy(2)
  const [short, long] = fills
  end(load, short!, 10, false)
  assert.equal(load.hold.ms, 1000)
  end(load, long!, 4000, false)
  assert.equal(load.hold.ms, 4000)
  assert.equal(load.running.size, 0)
})
