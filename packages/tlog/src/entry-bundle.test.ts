import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { decodeEntryBundle, MAX_ENTRY_BYTES } from './index.ts'
import { encodeEntryBundle } from './testing.ts'

const entries = fc.array(fc.uint8Array({ maxLength: 40 }), { minLength: 1, maxLength: 256 })

describe('entry bundles', () => {
  test('are each entry after its length in two bytes', () => {
    const bundle = encodeEntryBundle([Buffer.from('hello'), new Uint8Array(0), Buffer.from('foo')])
    assert.equal(Buffer.from(bundle).toString('hex'), '000568656c6c6f00000003666f6f')
  })

  test('give back the entries they were made of, and nothing for another width', () => {
    fc.assert(
      fc.property(entries, fc.nat(300), (list, width) => {
        const bundle = encodeEntryBundle(list)
        assert.deepEqual(
          decodeEntryBundle(bundle, list.length).map((entry) => entry.slice()),
          list,
        )
        if (width !== list.length) assert.throws(() => decodeEntryBundle(bundle, width), { kind: 'Malformed' })
      }),
    )
  })

  test('cut anywhere, or with a byte more, are refused', () => {
    fc.assert(
      fc.property(entries, fc.nat(10_000), (list, at) => {
        const bundle = encodeEntryBundle(list)
        const cut = bundle.subarray(0, at % bundle.length)
        assert.throws(() => decodeEntryBundle(cut, list.length), { kind: 'Malformed' })
        assert.throws(() => decodeEntryBundle(new Uint8Array([...bundle, 0]), list.length), { kind: 'Malformed' })
      }),
    )
  })

  test('hold entries up to 65 535 bytes and 256 of them', () => {
    const largest = new Uint8Array(MAX_ENTRY_BYTES).fill(7)
    assert.deepEqual(decodeEntryBundle(encodeEntryBundle([largest]), 1)[0], largest)
    assert.throws(() => encodeEntryBundle([new Uint8Array(MAX_ENTRY_BYTES + 1)]), { kind: 'Malformed' })
    assert.throws(() => encodeEntryBundle(Array.from({ length: 257 }, () => new Uint8Array(1))), { kind: 'Malformed' })
    assert.throws(() => encodeEntryBundle([]), { kind: 'Malformed' })
  })

  test('are read where they lie in a larger buffer', () => {
    const buffer = new Uint8Array([9, 9, ...encodeEntryBundle([Uint8Array.of(1, 2)]), 9])
    assert.deepEqual(decodeEntryBundle(buffer.subarray(2, -1), 1)[0], Uint8Array.of(1, 2))
  })
})
