import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createUlid, isCorrelationId } from './correlation.ts'

const UUID = '0f8fad5b-d9cb-469f-a165-70867728950e'
const random = fc.uint8Array({ minLength: 10, maxLength: 10 })
const times = fc.nat(2 ** 31 - 1).map((value) => value * 131_071)

test('a ULID is the 128 bits of time and randomness in Crockford base 32', () => {
  fc.assert(
    fc.property(times, random, (timeMs, bytes) => {
      const value = (BigInt(timeMs) << 80n) | BigInt(`0x${Buffer.from(bytes).toString('hex')}`)
      const digits = value.toString(32).padStart(26, '0')
      const crockford = digits.replace(
        /[a-v]/g,
        (digit) => 'ABCDEFGHJKMNPQRSTVWXYZ'[Number.parseInt(digit, 32) - 10] ?? '',
      )
      assert.equal(createUlid(timeMs, bytes), crockford)
      assert.ok(isCorrelationId(createUlid(timeMs, bytes)))
    }),
  )
  assert.equal(createUlid(2 ** 48 - 1, new Uint8Array(10).fill(255)), `7${'Z'.repeat(25)}`)
})

test('ULIDs sort by time', () => {
  fc.assert(
    fc.property(times, times, random, random, (a, b, x, y) => {
      if (a < b) assert.ok(createUlid(a, x) < createUlid(b, y))
    }),
  )
})

test('a time or randomness out of range is refused', () => {
  for (const time of [-1, 2 ** 48, 1.5, Number.NaN]) assert.throws(() => createUlid(time, new Uint8Array(10)), /2\^48/)
  assert.throws(() => createUlid(0, new Uint8Array(9)), /10 random bytes/)
})

test('a caller’s id is a ULID or a UUID in either case', () => {
  for (const id of [UUID, UUID.toUpperCase(), '01arz3ndektsv4rrffq69g5fav', '01ARZ3NDEKTSV4RRFFQ69G5FAV']) {
    assert.ok(isCorrelationId(id), id)
  }
  for (const id of [
    '',
    'abc',
    '81ARZ3NDEKTSV4RRFFQ69G5FAV',
    '01ARZ3NDEKTSV4RRFFQ69G5FAI',
    '01ARZ3NDEKTSV4RRFFQ69G5FAV\n',
    'a'.repeat(32),
    `${UUID}\r\nX: y`,
  ]) {
    assert.ok(!isCorrelationId(id), JSON.stringify(id))
  }
})
