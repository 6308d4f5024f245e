import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { formatByteSize, formatDuration, parseByteSize, parseDuration } from './quantities.ts'

describe('byte sizes', () => {
  test('are read in binary units or plain bytes', () => {
    const sizes = {
      '64KiB': 65_536,
      '1MiB': 1_048_576,
      '512B': 512,
      '10 GiB': 10 * 2 ** 30,
      '2TiB': 2 ** 41,
      '0': 0,
      '1024': 1024,
    }
    for (const [text, bytes] of Object.entries(sizes)) assert.equal(parseByteSize(text), bytes, text)
  })

  test('in decimal or unknown units, with fractions or signs, or past 2^53 are refused with the units named', () => {
    for (const text of [
      '',
      'KiB',
      '64KB',
      '64kib',
      '64k',
      '1.5MiB',
      '-1B',
      '+1B',
      '1  MiB',
      '1MiB ',
      '9007199254740992',
      '99999TiB',
      '1e3',
    ]) {
      assert.throws(() => parseByteSize(text), { kind: 'Malformed', message: /one of B, KiB, MiB, GiB, TiB/ }, text)
    }
  })
})

describe('durations', () => {
  test('are read with a unit', () => {
    const durations = { '1500ms': 1500, '3s': 3000, '5m': 300_000, '2h': 7_200_000, '30d': 2_592_000_000, '0ms': 0 }
    for (const [text, milliseconds] of Object.entries(durations)) assert.equal(parseDuration(text), milliseconds, text)
  })

  test('without a unit, or with another one, are refused', () => {
    for (const text of ['', '3', '3S', '3 sec', '1.5s', '-3s', '3s5ms']) {
      assert.throws(() => parseDuration(text), { kind: 'Malformed', message: /one of ms, s, m, h, d/ }, text)
    }
  })
})

test('what is written reads back, in the largest unit that leaves no fraction', () => {
  assert.equal(formatByteSize(65_536), '64KiB')
  assert.equal(formatByteSize(65_537), '65537B')
  assert.equal(formatByteSize(0), '0B')
  assert.equal(formatDuration(3000), '3s')
  assert.equal(formatDuration(1500), '1500ms')
  assert.equal(formatDuration(86_400_000), '1d')
  const values = fc.oneof(
    fc.maxSafeNat(),
    fc.nat(1000).map((n) => n * 65_536),
    fc.nat(1000).map((n) => n * 60_000),
  )
  fc.assert(
    fc.property(values, (value) => {
      assert.equal(parseByteSize(formatByteSize(value)), value)
      assert.equal(parseDuration(formatDuration(value)), value)
    }),
  )
})
