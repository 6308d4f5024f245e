import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { RequestHeaders } from './request-headers.ts'

const SINGLE = [
  'host',
  'content-length',
  'authorization',
  'range',
  'if-none-match',
  'deadline',
  'request-timeout',
] as const
const OTHER = [
  'user-agent',
  'accept',
  'hos',
  'hosts',
  'hast',
  'x-corr-id',
  'origin',
  'cookie',
  'if-none-watch',
  'x',
] as const

/** The name with some of its letters in capitals. */
const spelled = (name: string): fc.Arbitrary<string> =>
  fc.array(fc.boolean(), { minLength: name.length, maxLength: name.length }).map((upper) =>
    name
      .split('')
      .map((letter, at) => (upper[at] === true ? letter.toUpperCase() : letter))
      .join(''),
  )

const field = fc
  .constantFrom(...SINGLE, ...OTHER)
  .chain((name) => fc.record({ name: fc.constant(name), spelling: spelled(name), value: fc.string({ maxLength: 5 }) }))

test('every field is found in every spelling, and every forbidden repetition is seen', () => {
  fc.assert(
    fc.property(fc.array(field, { maxLength: 12 }), (fields) => {
      const headers = new RequestHeaders(fields.flatMap(({ spelling, value }) => [spelling, value]))
      for (const name of SINGLE) {
        const values = fields.filter((one) => one.name === name).map(({ value }) => value)
        assert.equal(headers.slot(name), values[0])
        assert.equal(headers.get(name), values[0])
        assert.deepEqual(headers.all(name), values)
      }
      const repeated = SINGLE.filter((name) => fields.filter((one) => one.name === name).length > 1)
      assert.equal(headers.repeated !== undefined, repeated.length > 0)
      if (headers.repeated !== undefined) assert.ok(repeated.some((name) => name === headers.repeated))
    }),
  )
})
