import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { readVector } from '../test/vectors.ts'
import { canonicalJson, type JsonValue, parseJson } from './json.ts'

const MAX_DEPTH = 64
const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text)
const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)
const parse = (source: string): JsonValue => parseJson(utf8(source))

describe('strict I-JSON refuses', () => {
  const cases: readonly [name: string, source: string, message: RegExp][] = [
    ['a repeated key', '{"a":1,"a":1}', /the key "a" given twice/],
    ['a key repeated by escape', '{"a":1,"\\u0061":1}', /the key "a" given twice/],
    ['a fraction', '[1.5]', /number 1\.5/],
    ['an integer written with a fraction', '1.0', /number 1\.0/],
    ['an exponent', '1e3', /number 1e3/],
    ['2^53', '9007199254740992', /number 9007199254740992/],
    ['-2^53', '-9007199254740992', /number -9007199254740992/],
    ['a number that would be infinite', '1'.repeat(400), /number/],
    ['minus zero', '-0', /number -0/],
    ['leading zeros', '[01]', /number 01/],
    ['a plus sign', '+1', /expected a value/],
    ['a lone surrogate', '"\\ud800"', /lone surrogate/],
    ['surrogates in the wrong order', '"\\udc00\\ud800"', /lone surrogate/],
    ['a lone surrogate in a key', '{"\\udfff":1}', /lone surrogate/],
    ['__proto__', '{"__proto__":{}}', /"__proto__"/],
    ['__proto__ by escape', '{"\\u005f_proto__":{}}', /"__proto__"/],
    ['a trailing comma', '[1,]', /expected a value at character 3, but there is "\]"/],
    ['a missing comma', '[1 2]', /expected "," or "]"/],
    ['a key without quotes', '{a:1}', /expected a key in double quotes/],
    ['a missing colon', '{"a" 1}', /expected ":"/],
    ['an unclosed string', '"abc', /closed string/],
    ['an unknown escape', '"\\x41"', /valid escapes/],
    ['a raw line feed in a string', '"a\nb"', /control characters/],
    ['NaN', 'NaN', /expected a value/],
    ['a comment', '/**/1', /expected a value/],
    ['more after the value', '1 1', /expected the end/],
    ['nothing', '', /expected a value at character 0, but the text ends/],
    ['a byte order mark', '\ufeff1', /expected a value/],
    ['a form feed as white space', '\f1', /expected a value/],
    ['nesting past 64', `${'['.repeat(66)}${']'.repeat(66)}`, /deeper than 64/],
    ['nesting past any stack', '['.repeat(1_000_000), /deeper than 64/],
  ]
  for (const [name, source, message] of cases) {
    test(name, () => assert.throws(() => parse(source), { name: 'CairnError', kind: 'Malformed', message }))
  }

  test('bytes that are not UTF-8', () => {
    assert.throws(() => parseJson(Uint8Array.from([0x22, 0xc3, 0x28, 0x22])), /must be UTF-8/)
    assert.throws(() => parseJson(Uint8Array.from([0x22, 0xed, 0xa0, 0x80, 0x22])), /must be UTF-8/)
  })
})

test('strict JSON reads what JSON.parse reads', () => {
  const source =
    ' { "a" : [ 1 , -2, true,false , null, "\\u20ac\\n\\"\\\\/é" ], "": {} , "\\ud83d\\ude00":9007199254740991 }\r\n\t'
  assert.deepEqual(parse(source), JSON.parse(source))
  assert.equal(parse('"x"'.padStart(100_000)), 'x')
  assert.equal(parse(`"${'y'.repeat(1_000_000)}"`), 'y'.repeat(1_000_000))
})

describe('canonical JSON', () => {
  test('refuses values that strict JSON could not have held', () => {
    const refused: readonly unknown[] = [
      1.5,
      Number.NaN,
      2 ** 53,
      -0,
      '\ud800',
      undefined,
      1n,
      () => 1,
      { a: undefined },
    ]
    for (const value of refused) assert.throws(() => canonicalJson(value as JsonValue), { kind: 'Malformed' })
    assert.throws(() => canonicalJson(JSON.parse('{"__proto__":1}') as JsonValue), /__proto__/)
  })

  const published = (name: string): string => readVector(`jcs/outhex/${name}.txt`).replace(/\s/g, '')
  const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

  for (const name of ['arrays', 'french', 'unicode', 'weird']) {
    test(`published vector ${name}`, () => {
      assert.equal(hex(canonicalJson(parse(readVector(`jcs/input/${name}.json`)))), published(name))
    })
  }

  test('published vector structures: its 56.0 is refused as text, its values are canonical', () => {
    const source = readVector('jcs/input/structures.json')
    assert.throws(() => parse(source), /number 56\.0: only plain integers are exact/)
    assert.equal(hex(canonicalJson(JSON.parse(source) as JsonValue)), published('structures'))
  })

  test('published vector values: fractions are refused as text and as values', () => {
    const source = readVector('jcs/input/values.json')
    assert.throws(() => parse(source), /only plain integers are exact/)
    assert.throws(() => canonicalJson(JSON.parse(source) as JsonValue), /only integers within/)
  })
})

const keys = fc.string({ unit: 'grapheme', maxLength: 8 }).filter((key) => key !== '__proto__')
const integers = fc.maxSafeInteger().filter((value) => !Object.is(value, -0))
const values: fc.Arbitrary<JsonValue> = fc.letrec<{
  value: JsonValue
  list: JsonValue[]
  map: Record<string, JsonValue>
}>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    integers,
    fc.boolean(),
    fc.constant(null),
    fc.string({ unit: 'grapheme', maxLength: 12 }),
    tie('list'),
    tie('map'),
  ),
  list: fc.array(tie('value'), { maxLength: 6 }),
  map: fc.dictionary(keys, tie('value'), { maxKeys: 6, noNullPrototype: true }),
})).value

test('a value reads back from its canonical bytes, which are a fixed point', () => {
  fc.assert(
    fc.property(values, (value) => {
      const bytes = canonicalJson(value)
      assert.deepEqual(parseJson(bytes), value)
      assert.deepEqual(canonicalJson(parseJson(bytes)), bytes)
    }),
  )
})

test('the order of keys and the white space of a text do not reach the canonical bytes', () => {
  fc.assert(
    fc.property(values, (value) => {
      const source = utf8(JSON.stringify(value, undefined, 3))
      assert.equal(text(canonicalJson(parseJson(source))), text(canonicalJson(value)))
    }),
  )
})

test('whatever strict JSON accepts, JSON.parse reads alike', () => {
  const soup = fc.string({
    unit: fc.constantFrom(...'{}[]",:0123456789-.eE truefalsn\\u'.split(''), '"a"', '\n'),
    maxLength: 24,
  })
  fc.assert(
    fc.property(
      fc.oneof(
        soup,
        values.map((value) => JSON.stringify(value)),
      ),
      (source) => {
        let value: JsonValue
        try {
          value = parse(source)
        } catch (error) {
          assert.ok(error instanceof Error && error.name === 'CairnError', String(error))
          return
        }
        assert.deepEqual(value, JSON.parse(source))
      },
    ),
    { numRuns: 5000 },
  )
})

test('canonical bytes are refused to what is nested too deep, in lists and in objects, and to keys that are no text', () => {
  const lists = (depth: number): JsonValue => (depth === 0 ? 1 : [lists(depth - 1)])
  const objects = (depth: number): JsonValue => (depth === 0 ? 1 : { a: objects(depth - 1) })
  for (const nest of [lists, objects]) {
    assert.ok(canonicalJson(nest(MAX_DEPTH)).length > MAX_DEPTH)
    assert.throws(() => canonicalJson(nest(MAX_DEPTH + 1)), { kind: 'Malformed' })
  }
  assert.throws(() => canonicalJson({ ['\ud800']: 1 }), { kind: 'Malformed' })
  assert.throws(() => canonicalJson([['\ud800']]), { kind: 'Malformed' })
})
