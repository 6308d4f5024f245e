import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { fromBase64, fromUtf8, parseDecimal, toBase64, toUtf8 } from './encoding.ts'

const refused = { kind: 'Malformed' }

describe('base64', () => {
  test('is what Buffer writes, and reads back to the same bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 80 }), (bytes) => {
        assert.equal(toBase64(bytes), Buffer.from(bytes).toString('base64'))
        assert.deepEqual(fromBase64(toBase64(bytes)), bytes)
      }),
    )
  })

  test('of any text, either reads to bytes that write the same text, or is refused', () => {
    const texts = fc.string({ unit: fc.constantFrom(...'AQZaz09-_+/= \n.é'.split('')), maxLength: 12 })
    fc.assert(
      fc.property(texts, (text) => {
        try {
          assert.equal(Buffer.from(fromBase64(text)).toString('base64'), text)
        } catch (error) {
          assert.equal((error as Error).name, 'CairnError')
        }
      }),
      { numRuns: 5000 },
    )
  })

  test('without padding, with spaces, stray bits or the other alphabet is refused', () => {
    for (const text of ['QQ', 'QR==', 'QUJ=', 'QQ==\n', ' QQ==', 'Q Q==', 'QQ===', '-_-_', 'QQ==QQ==', '=']) {
      assert.throws(() => fromBase64(text), refused, text)
    }
  })
})

describe('decimal numbers', () => {
  test('read back exactly as written', () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), (value) => {
        assert.equal(parseDecimal(String(value)), value)
      }),
    )
  })

  test('in any other spelling, or past 2^53 − 1, are refused', () => {
    for (const text of [
      '',
      '00',
      '01',
      '+1',
      '-1',
      '-0',
      '1.0',
      '1e3',
      '0x10',
      ' 1',
      '1 ',
      '1\n',
      '9007199254740992',
    ]) {
      assert.throws(() => parseDecimal(text), refused, text)
    }
    assert.throws(() => parseDecimal('1'.repeat(1000)), refused)
  })
})

describe('UTF-8', () => {
  test('keeps a byte order mark, and refuses what is no text either way', () => {
    const marked = Uint8Array.of(0xef, 0xbb, 0xbf, 0x61)
    assert.deepEqual(toUtf8(fromUtf8(marked)), marked)
    assert.throws(() => fromUtf8(Uint8Array.of(0xc0, 0x80)), refused)
    assert.throws(() => toUtf8('\ud800'), refused)
  })
})
