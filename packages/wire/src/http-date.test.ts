import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { formatHttpDate, parseHttpDate } from './preconditions.ts'

const NOW_MS = Date.UTC(2026, 5, 15)
const EXAMPLE = Date.UTC(1994, 10, 6, 8, 49, 37) / 1000

describe('parseHttpDate', () => {
  test('reads the three forms of RFC 9110', () => {
    assert.equal(parseHttpDate('Sun, 06 Nov 1994 08:49:37 GMT', NOW_MS), EXAMPLE)
    assert.equal(parseHttpDate('Sunday, 06-Nov-94 08:49:37 GMT', NOW_MS), EXAMPLE)
    assert.equal(parseHttpDate('Sun Nov  6 08:49:37 1994', NOW_MS), EXAMPLE)
  })

  test('takes a two-digit year more than 50 years ahead for the past one', () => {
    const yearOf = (text: string, nowMs: number): number =>
      new Date((parseHttpDate(text, nowMs) ?? 0) * 1000).getUTCFullYear()
    assert.equal(yearOf('Sunday, 06-Nov-76 08:49:37 GMT', NOW_MS), 2076)
    assert.equal(yearOf('Sunday, 06-Nov-77 08:49:37 GMT', NOW_MS), 1977)
    assert.equal(yearOf('Sunday, 06-Nov-77 08:49:37 GMT', Date.UTC(2027, 0, 1)), 2077)
  })

  test('refuses what is not an HTTP date or not a day', () => {
    for (const text of [
      '',
      'Sun, 06 Nov 1994 08:49:37',
      'Sun, 06 Nov 1994 08:49:37 UTC',
      'Sun, 6 Nov 1994 08:49:37 GMT',
      'sun, 06 nov 1994 08:49:37 gmt',
      'Sun, 31 Jun 1994 08:49:37 GMT',
      'Sun, 29 Feb 1900 08:49:37 GMT',
      'Sun, 00 Nov 1994 08:49:37 GMT',
      'Sun, 06 Nov 1994 24:00:00 GMT',
      'Sun, 06 Nov 1994 08:60:00 GMT',
      'Sun, 06 Nov 1994 08:49:61 GMT',
      ' Sun, 06 Nov 1994 08:49:37 GMT',
      '1994-11-06T08:49:37Z',
    ]) {
      assert.equal(parseHttpDate(text, NOW_MS), undefined, text)
    }
    assert.equal(parseHttpDate('Tue, 29 Feb 2000 00:00:60 GMT', NOW_MS), Date.UTC(2000, 1, 29, 0, 1) / 1000)
  })
})

test('what is written is what Date writes, and reads back to the same second', () => {
  const seconds = fc.integer({ min: Date.UTC(1000, 0, 1) / 1000, max: Date.UTC(9999, 11, 31) / 1000 })
  fc.assert(
    fc.property(seconds, (at) => {
      assert.equal(formatHttpDate(at), new Date(at * 1000).toUTCString())
      assert.equal(parseHttpDate(formatHttpDate(at), NOW_MS), at)
    }),
    { numRuns: 5000 },
  )
})

test('the last and the first day of every February and of every century are where the calendar has them', () => {
  for (let year = 1600; year <= 2800; year += 1) {
    for (const [month, day] of [
      [0, 1],
      [1, 28],
      [2, 1],
      [11, 31],
    ] as const) {
      const seconds = Date.UTC(year, month, day) / 1000
      assert.equal(formatHttpDate(seconds), new Date(seconds * 1000).toUTCString())
    }
  }
})

test('February has 29 days in leap years only, and centuries are leap years every fourth time', () => {
  const days = (year: number): boolean => {
    const weekday = new Date(Date.UTC(year, 1, 29)).toUTCString().slice(0, 3)
    return parseHttpDate(`${weekday}, 29 Feb ${year} 00:00:00 GMT`, NOW_MS) !== undefined
  }
  assert.deepEqual([2000, 2004, 1900, 2100, 2023].map(days), [true, true, false, false, false])
})
