import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { contentRange, evaluateRange, type RangeOutcome, selectRange } from './range.ts'

const whole: RangeOutcome = { kind: 'whole' }
const unsatisfiable: RangeOutcome = { kind: 'unsatisfiable' }
const single = (first: number, last: number): RangeOutcome => ({ kind: 'single', range: { first, last } })

describe('evaluateRange', () => {
  const cases: readonly [header: string, size: number, outcome: RangeOutcome, why: string][] = [
    ['bytes=0-65535', 100_000, single(0, 65_535), 'first and last'],
    ['bytes=0-', 10, single(0, 9), 'open end covers everything'],
    ['bytes=-4', 10, single(6, 9), 'suffix'],
    ['bytes=-400', 10, single(0, 9), 'a suffix longer than the object is the object'],
    ['bytes=5-400', 10, single(5, 9), 'last position is clamped'],
    ['bytes=9-9', 10, single(9, 9), 'last byte'],
    ['bytes=10-', 10, unsatisfiable, 'first position at the end'],
    ['bytes=-0', 10, unsatisfiable, 'empty suffix'],
    ['bytes=0-', 0, unsatisfiable, 'an empty object has no first byte'],
    ['bytes=-1', 0, whole, 'a suffix of an empty object cannot be described'],
    ['bytes=5-4', 10, whole, 'last before first is not valid'],
    ['bytes=0-1,5-4', 10, whole, 'one bad member spoils the set'],
    ['bytes=a-b', 10, whole, 'not digits'],
    ['bytes=-', 10, whole, 'neither end'],
    ['bytes=', 10, whole, 'no member'],
    ['bytes=,', 10, whole, 'only empty members'],
    ['bytes=0x1-2', 10, whole, 'hexadecimal'],
    ['bytes=1-2.5', 10, whole, 'fraction'],
    ['bytes=+1-2', 10, whole, 'sign'],
    ['bytes= 1-2', 10, whole, 'space after the equals sign'],
    ['bytes=1 - 2', 10, whole, 'space inside'],
    ['octets=1-2', 10, whole, 'another unit'],
    ['1-2', 10, whole, 'no unit'],
    ['BYTES=1-2', 10, single(1, 2), 'unit names are case-insensitive'],
    [' bytes=1-2\t', 10, single(1, 2), 'white space around the value'],
    ['bytes=1-2,,', 10, single(1, 2), 'empty members are ignored'],
    ['bytes=1-2, 90-', 10, single(1, 2), 'unsatisfiable members are dropped'],
    ['bytes=20-,90-', 10, unsatisfiable, 'nothing satisfiable'],
    ['bytes=000000000000000000001-0002', 10, single(1, 2), 'leading zeros'],
    ['bytes=1-99999999999999999999999999', 10, single(1, 9), 'a number past 2^53 is past the end'],
    ['bytes=9007199254740993-9007199254740992', 10, whole, 'compared exactly past 2^53'],
    ['bytes=0-4,4-8', 10, whole, 'overlap'],
    ['bytes=0-', 2 ** 50, single(0, 2 ** 50 - 1), 'large object'],
  ]
  for (const [header, size, outcome, why] of cases) {
    test(`${header} of ${size}: ${why}`, () => assert.deepEqual(evaluateRange(header, size), outcome))
  }

  test('2 to 16 ranges that do not overlap are answered in the order asked', () => {
    assert.deepEqual(evaluateRange('bytes=8-9, 0-1 ,-1', 20), {
      kind: 'multiple',
      ranges: [
        { first: 8, last: 9 },
        { first: 0, last: 1 },
        { first: 19, last: 19 },
      ],
    })
    const ranges = (count: number): string =>
      `bytes=${Array.from({ length: count }, (_, i) => `${2 * i}-${2 * i}`).join(',')}`
    assert.equal(evaluateRange(ranges(16), 100).kind, 'multiple')
    assert.equal(evaluateRange(ranges(17), 100).kind, 'whole')
  })

  test('a hostile header is judged in linear time', () => {
    const spaces = ' '.repeat(200_000)
    assert.deepEqual(evaluateRange(`bytes=0-1${spaces}x`, 10), whole)
    assert.deepEqual(evaluateRange(`bytes=${'9'.repeat(200_000)}-${'9'.repeat(199_999)}`, 10), whole)
  })
})

describe('selectRange', () => {
  const request = { method: 'GET', range: 'bytes=0-0' }
  const etag = '"b3:aa"'

  test('only GET has ranges; HEAD ignores Range and If-Range', () => {
    assert.deepEqual(selectRange(request, etag, 10), single(0, 0))
    assert.deepEqual(selectRange({ ...request, method: 'HEAD' }, etag, 10), whole)
    assert.deepEqual(selectRange({ ...request, method: 'HEAD', range: 'bytes=99-' }, etag, 10), whole)
    assert.deepEqual(selectRange({ method: 'GET' }, etag, 10), whole)
  })

  test('If-Range holds for the same strong tag and for nothing else', () => {
    assert.deepEqual(selectRange({ ...request, ifRange: etag }, etag, 10), single(0, 0))
    for (const ifRange of ['"b3:bb"', 'W/"b3:aa"', '*', '', 'Sun, 06 Nov 1994 08:49:37 GMT', '"b3:aa", "b3:aa"']) {
      assert.deepEqual(selectRange({ ...request, ifRange }, etag, 10), whole, ifRange)
    }
    assert.deepEqual(selectRange({ ...request, ifRange: 'W/"x"' }, 'W/"x"', 10), whole, 'a weak tag of our own')
    assert.deepEqual(selectRange({ ...request, ifRange: etag }, undefined, 10), whole, 'no tag')
  })

  test('an unsatisfiable range under a failing If-Range is the whole object, not 416', () => {
    assert.deepEqual(selectRange({ method: 'GET', range: 'bytes=99-', ifRange: '"other"' }, etag, 10), whole)
  })
})

test('Content-Range names the part, or only the size for a 416', () => {
  assert.equal(contentRange(10, { first: 2, last: 4 }), 'bytes 2-4/10')
  assert.equal(contentRange(10), 'bytes */10')
})
