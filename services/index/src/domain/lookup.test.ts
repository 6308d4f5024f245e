import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isKind } from '@cairn/kernel'
import fc from 'fast-check'
import { keyText, parseLookupKey } from './lookup.ts'

test('a key is a name or an address, and is spelled as it was', () => {
  for (const text of ['name:site@1.0', 'name:does-not-exist', `b3:${'0a'.repeat(32)}`])
    assert.equal(keyText(parseLookupKey(text)), text)
})

test('anything else is malformed, and the error says why', () => {
  const wrong = [
    '',
    'site@1.0',
    'name:',
    'name:Site',
    'name:a b',
    'name:-a',
    `name:${'a'.repeat(254)}`,
    'b3:',
    `B3:${'0a'.repeat(32)}`,
    `b3:${'0A'.repeat(32)}`,
  ]
  for (const text of wrong)
    assert.throws(
      () => parseLookupKey(text),
      (error) => isKind(error, 'Malformed') && error.message.length > 20,
    )
})

test('whatever is sent, it is understood exactly or refused', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.string().map((rest) => `b3:${rest}`),
        fc.string().map((rest) => `name:${rest}`),
      ),
      (text) => {
        try {
          assert.equal(keyText(parseLookupKey(text)), text)
        } catch (error) {
          assert.ok(isKind(error, 'Malformed'), String(error))
        }
      },
    ),
    { numRuns: 1000 },
  )
})
