import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mayDropTombstone, pickVictim, type SegmentFacts } from './compaction-core.ts'

function segment(number: number, facts: Partial<SegmentFacts> = {}): SegmentFacts {
  return {
    number,
    isSettled: true,
    isPutOff: false,
    isDamaged: false,
    bytes: 1000,
    liveBytes: 1000,
    tombstoneBytes: 0,
    firstLsn: number * 10,
    previous: number - 1,
    previousEnd: 1128,
    fileBytes: 1128,
    ...facts,
  }
}

test('the emptiest segment below half live is the victim; with none there is nothing to do', () => {
  assert.equal(pickVictim([segment(1), segment(2, { liveBytes: 500 })]), undefined)
  assert.equal(pickVictim([segment(1, { liveBytes: 499 }), segment(2, { liveBytes: 10 })])?.number, 2)
})

test('active, damaged and put-off segments are left alone', () => {
  const empty = { liveBytes: 0 }
  assert.equal(pickVictim([segment(1, { ...empty, isSettled: false })]), undefined)
  assert.equal(pickVictim([segment(1, { ...empty, isDamaged: true })]), undefined)
  assert.equal(pickVictim([segment(1, { ...empty, isPutOff: true })]), undefined)
})

test('a segment that alone knows where a failed one ends stays as long as that one', () => {
  const failed = segment(1, { fileBytes: 2000 })
  const next = segment(2, { liveBytes: 0 })
  assert.equal(pickVictim([failed, next]), undefined)
  assert.equal(pickVictim([next])?.number, 2)
})

test('the tombstones of the oldest segment count as space to be had, those of others do not', () => {
  const full = { liveBytes: 900, tombstoneBytes: 900 }
  assert.equal(pickVictim([segment(1), segment(2, full)]), undefined)
  assert.equal(pickVictim([segment(1, full), segment(2)])?.number, 1)
})

test('a tombstone goes when its time is over and nothing older is left anywhere', () => {
  const rules = { wallNow: 1_000, keepMs: 100, oldestLsnElsewhere: 50, isNeededElsewhere: false }
  const tombstone = { lsn: 49, writtenAt: 900 }
  assert.equal(mayDropTombstone(tombstone, rules), true)
  assert.equal(mayDropTombstone({ ...tombstone, lsn: 50 }, rules), false)
  assert.equal(mayDropTombstone({ ...tombstone, writtenAt: 901 }, rules), false)
  assert.equal(mayDropTombstone(tombstone, { ...rules, isNeededElsewhere: true }), false)
})
