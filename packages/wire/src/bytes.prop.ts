import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { compareBytes, equalBytes, equalSecrets, freeBytes, fromBase64url, toBase64url, toHex } from './bytes.ts'

const bytes = fc.uint8Array({ maxLength: 80 })

describe('base64url', () => {
  test('is what Buffer writes, and reads back to the same bytes', () => {
    fc.assert(
      fc.property(bytes, (value) => {
        const text = toBase64url(value)
        assert.equal(text, Buffer.from(value).toString('base64url'))
        assert.deepEqual(fromBase64url(text), value)
      }),
    )
  })

  test('of any text, either reads to bytes that write the same text, or is refused', () => {
    const texts = fc.string({ unit: fc.constantFrom(...'AZaz09-_+/= \n.é'.split('')), maxLength: 12 })
    fc.assert(
      fc.property(texts, (text) => {
        let value: Uint8Array
        try {
          value = fromBase64url(text)
        } catch (error) {
          assert.ok(error instanceof Error && error.name === 'CairnError')
          return
        }
        assert.equal(Buffer.from(value).toString('base64url'), text)
      }),
      { numRuns: 5000 },
    )
  })

  test('padding, the other alphabet, stray bits and impossible lengths are refused', () => {
    for (const text of ['QQ==', 'Q', 'QR', 'QUJDR', '+/+/', 'QUI=', ' QUI', 'QU\nI', 'QUJ']) {
      assert.throws(() => fromBase64url(text), { kind: 'Malformed' }, text)
    }
  })
})

test('hexadecimal is what Buffer writes', () => {
  fc.assert(fc.property(bytes, (value) => assert.equal(toHex(value), Buffer.from(value).toString('hex'))))
})

test('secrets that differ in one byte, wherever it is, are not equal', () => {
  const secret = new Uint8Array(32).fill(5)
  for (let at = 0; at < 32; at++) assert.ok(!equalSecrets(secret, secret.with(at, 4)), `byte ${at}`)
  assert.ok(equalSecrets(secret, secret.slice()))
})

test('comparing byte strings is what Buffer.compare does, and the equalities agree with it', () => {
  const near = fc
    .tuple(bytes, fc.uint8Array({ maxLength: 2 }))
    .map(([a, b]) => [a, Uint8Array.from([...a, ...b])] as const)
  fc.assert(
    fc.property(fc.oneof(fc.tuple(bytes, bytes), near), ([a, b]) => {
      assert.equal(Math.sign(compareBytes(a, b)), Buffer.compare(a, b))
      assert.equal(equalBytes(a, b), Buffer.compare(a, b) === 0)
      assert.equal(equalSecrets(a, b), Buffer.compare(a, b) === 0)
    }),
  )
})

test('freeing takes the memory of bytes that have it to themselves, and no other', () => {
  const whole = new Uint8Array(8)
  freeBytes(whole)
  assert.equal(whole.length, 0)
  const room = new Uint8Array(8)
  freeBytes(room.subarray(0, 4))
  assert.equal(room.length, 8)
  const shared = new Uint8Array(new SharedArrayBuffer(8))
  freeBytes(shared)
  assert.equal(shared.length, 8)
})
