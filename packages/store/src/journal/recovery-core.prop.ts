import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createTail, judge, sawBad, sawRecord, type Tail } from './recovery-core.ts'

const RECORD_BYTES = 100

/** Groups of records, each written when the ones before it were durable; `bad` says which records cannot be read. */
interface Log {
  readonly groups: readonly (readonly boolean[])[]
}

const log: fc.Arbitrary<Log> = fc.record({
  groups: fc.array(fc.array(fc.boolean(), { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 6 }),
})

interface Written {
  readonly lsn: number
  readonly syncedLsn: number
  readonly isBad: boolean
  readonly group: number
}

function write({ groups }: Log): Written[] {
  const written: Written[] = []
  for (const [group, records] of groups.entries()) {
    const syncedLsn = written.length
    for (const isBad of records) written.push({ lsn: written.length + 1, syncedLsn, isBad, group })
  }
  return written
}

function scanned(written: readonly Written[]): Tail {
  const tail = createTail(0, 0)
  for (const [at, { lsn, syncedLsn, isBad }] of written.entries()) {
    const next = (at + 1) * RECORD_BYTES
    if (isBad) sawBad(tail, next)
    else sawRecord(tail, { lsn, syncedLsn }, next)
  }
  return tail
}

test('cut is only what no later record and no watermark proves to have been durable', () => {
  fc.assert(
    fc.property(log, fc.nat({ max: 30 }), (which, durable) => {
      const written = write(which)
      const durableRecords = Math.min(durable, written.length)
      const verdict = judge(scanned(written), durableRecords * RECORD_BYTES)
      const provenLsn = Math.max(
        durableRecords,
        ...written.filter(({ isBad }) => !isBad).map(({ syncedLsn }) => syncedLsn),
      )
      assert.ok(verdict.end >= provenLsn * RECORD_BYTES, 'nothing proven durable is cut')
      const firstUnproven = written.find(({ isBad, lsn }) => isBad && lsn > provenLsn)
      const expectedEnd = (firstUnproven === undefined ? written.length : firstUnproven.lsn - 1) * RECORD_BYTES
      // A bad record next to proven damage is one stretch with it: it goes where the stretch goes.
      assert.ok(verdict.end >= expectedEnd)
      const lost = written.filter(({ isBad, lsn }) => isBad && lsn <= provenLsn)
      for (const { lsn } of lost) {
        const at = (lsn - 1) * RECORD_BYTES
        assert.ok(
          verdict.damage.some(({ from, to }) => from <= at && at < to),
          `record ${lsn} is reported`,
        )
      }
    }),
    { numRuns: 500 },
  )
})

test('an end that was never synced is cut at its first bad record, whatever follows', () => {
  fc.assert(
    fc.property(fc.array(fc.boolean(), { minLength: 1, maxLength: 8 }), (last) => {
      const written = write({ groups: [[false, false], last] })
      const verdict = judge(scanned(written), 2 * RECORD_BYTES)
      const firstBad = last.indexOf(true)
      assert.deepEqual(verdict.damage, [])
      assert.equal(verdict.end, (2 + (firstBad === -1 ? last.length : firstBad)) * RECORD_BYTES)
    }),
  )
})

test('a record out of order is none of this log', () => {
  const tail = createTail(0, 10)
  assert.equal(sawRecord(tail, { lsn: 11, syncedLsn: 10 }, 100), true)
  assert.equal(sawRecord(tail, { lsn: 5, syncedLsn: 4 }, 200), false)
  assert.deepEqual(judge(tail, 0), {
    end: 100,
    lastLsn: 11,
    damage: [],
    cut: { from: 100, to: 200, firstLsn: 12, lastLsn: 11 },
  })
})
