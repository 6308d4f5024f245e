import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { decodeCbor, encodeCbor } from './cbor.ts'

const fromHex = (hex: string): Uint8Array => Uint8Array.from(Buffer.from(hex.replaceAll(' ', ''), 'hex'))

describe('hostile CBOR is refused', () => {
  const cases: readonly [name: string, hex: string][] = [
    ['nothing', ''],
    ['unsorted keys', 'a2 62 6161 01 61 62 02'],
    ['keys sorted by bytes instead of length first', 'a2 62 6161 01 61 7a 02'],
    ['a repeated key', 'a2 61 61 01 61 61 02'],
    ['an integer in one byte too many', '18 17'],
    ['an integer in four bytes too many', '1a 00000001'],
    ['a length in one byte too many', '58 01 00'],
    ['an array length in two bytes', '99 0001 00'],
    ['trailing bytes', '00 00'],
    ['a truncated item', '82 01'],
    ['a byte string longer than the input', '5b 7fffffffffffffff 00'],
    ['an array of 2^53 items', '9b 001fffffffffffff'],
    ['a map of 2^32 entries', 'ba ffffffff'],
    ['an indefinite array', '9f 01 ff'],
    ['an indefinite byte string', '5f 41 00 ff'],
    ['an integer past 2^53', '1b 0020000000000000'],
    ['a negative integer past 2^53', '3b 0020000000000000'],
    ['undefined', 'f7'],
    ['NaN', 'fb 7ff8000000000000'],
    ['infinity', 'fb 7ff0000000000000'],
    ['a float in half precision', 'f9 3e00'],
    ['a link', 'd8 2a 45 00 01 55 00 00'],
    ['a date tag', 'c1 00'],
    ['text that is not UTF-8', '62 c328'],
    ['a key that is not text', 'a1 01 01'],
    ['a reserved head', '1c'],
    ['a simple value', 'e0'],
  ]
  for (const [name, hex] of cases) {
    test(name, () => assert.throws(() => decodeCbor(fromHex(hex)), { name: 'CairnError', kind: 'Malformed' }))
  }

  test('nesting past 16 levels, before the stack is at risk', () => {
    assert.doesNotThrow(() => decodeCbor(fromHex(`${'81'.repeat(16)}00`)))
    assert.throws(() => decodeCbor(fromHex(`${'81'.repeat(17)}00`)), /deeper than 16/)
    assert.throws(() => decodeCbor(new Uint8Array(1_000_000).fill(0x81)), /deeper than 16/)
    assert.throws(() => decodeCbor(new Uint8Array(1_000_000).fill(0xa1)), { kind: 'Malformed' })
    assert.doesNotThrow(() => decodeCbor(encodeCbor(Array.from({ length: 100 }, () => [[]]))), 'siblings are not depth')
  })
})

test('a key named __proto__ is an ordinary key, not a prototype', () => {
  const value = decodeCbor(fromHex('a1 69 5f5f70726f746f5f5f a1 61 78 01')) as object
  assert.equal(Object.getPrototypeOf(value), Object.prototype)
  assert.deepEqual(Object.keys(value), ['__proto__'])
})

const scalars = fc.oneof(
  fc.maxSafeInteger(),
  fc.boolean(),
  fc.constant(null),
  fc.uint8Array({ maxLength: 40 }),
  fc.string({ unit: 'grapheme', maxLength: 20 }),
)
const values = fc.letrec((tie) => ({
  value: fc.oneof({ maxDepth: 5 }, scalars, tie('list'), tie('map')),
  list: fc.array(tie('value'), { maxLength: 6 }),
  map: fc.dictionary(fc.string({ minLength: 1, maxLength: 8 }), tie('value'), { maxKeys: 6, noNullPrototype: true }),
})).value

test('every value of ours reads back from its encoding', () => {
  fc.assert(fc.property(values, (value) => assert.deepEqual(decodeCbor(encodeCbor(value)), value)))
})

test('of any bytes, either they are the encoding of what they decode to, or they are refused', () => {
  const edited = fc
    .tuple(values, fc.nat(200), fc.nat(255), fc.integer({ min: -3, max: 3 }))
    .map(([value, at, byte, extra]) => {
      const bytes = [...encodeCbor(value)]
      bytes[at % bytes.length] = byte
      return Uint8Array.from(extra < 0 ? bytes.slice(0, extra) : [...bytes, ...new Array<number>(extra).fill(byte)])
    })
  fc.assert(
    fc.property(fc.oneof(edited, fc.uint8Array({ maxLength: 30 })), (bytes) => {
      let value: unknown
      try {
        value = decodeCbor(bytes)
      } catch (error) {
        assert.ok(error instanceof Error && error.name === 'CairnError', String(error))
        return
      }
      assert.deepEqual(encodeCbor(value), bytes)
    }),
    { numRuns: 5000 },
  )
})

test('depth is counted where it is: many siblings at one level are no depth', () => {
  const nested = (depth: number): unknown => (depth === 0 ? [] : [nested(depth - 1), [], { a: [] }, nested(0)])
  const value = [nested(3), nested(3), { b: nested(3), c: [[[[]]]] }]
  assert.deepEqual(decodeCbor(encodeCbor(value)), value)
})
