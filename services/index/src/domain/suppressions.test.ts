import assert from 'node:assert/strict'
import { test } from 'node:test'
import { VirtualClock } from '@cairn/kernel/testing'
import { addressOf } from '@cairn/wire'
import { Latencies, Suppressions } from './rank.ts'

const CID = addressOf(new Uint8Array(1))
const OTHER = addressOf(new Uint8Array(2))
const PROVIDERS = ['a', 'b'].map((id) => ({ id, http: [], seenAtMs: 0 }))

test('who was reported for an object is left out of it for ten minutes, and of no other', () => {
  const clock = new VirtualClock()
  const suppressions = new Suppressions(clock)
  const shown = (cid = CID): string[] => suppressions.without(cid, PROVIDERS).map(({ id }) => id)
  assert.deepEqual(shown(), ['a', 'b'])
  suppressions.report(CID, 'a')
  assert.deepEqual([shown(), shown(OTHER)], [['b'], ['a', 'b']])
  clock.advance(600_000 - 1)
  assert.deepEqual(shown(), ['b'])
  clock.advance(1)
  assert.deepEqual(shown(), ['a', 'b'])
})

test('a flood of reports pushes out the oldest, and no more is kept than fits', () => {
  const suppressions = new Suppressions(new VirtualClock())
  suppressions.report(CID, 'a')
  for (let count = 0; count < 10_000; count += 1) suppressions.report(OTHER, `peer ${count}`)
  assert.equal(suppressions.without(CID, PROVIDERS).length, 2)
})

test('a latency moves with what is measured, and the least recent is forgotten first', () => {
  const latencies = new Latencies()
  latencies.note('a', 100)
  latencies.note('a', 200)
  assert.equal(latencies.of('a'), 125)
  for (let count = 0; count < 10_000; count += 1) latencies.note(`peer ${count}`, 1)
  assert.equal(latencies.of('a'), undefined)
})
