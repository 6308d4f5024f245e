import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemCrypto } from '@cairn/platform'
import fc from 'fast-check'
import {
  decodeSegmentHeader,
  encodeSegmentHeader,
  RECORD_HEADER_BYTES,
  type RecordHeader,
  RecordSums,
  SEGMENT_HEADER_BYTES,
  type SegmentHeader,
} from './format.ts'

const { crc32 } = systemCrypto
const integer = fc.nat({ max: Number.MAX_SAFE_INTEGER })
const bytes = (length: number): fc.Arbitrary<Uint8Array> => fc.uint8Array({ minLength: length, maxLength: length })

const formats = [
  { format: 1, overlapsSync: false },
  { format: 2, overlapsSync: false },
  { format: 2, overlapsSync: true },
] as const

const fields: fc.Arbitrary<Omit<SegmentHeader, 'format' | 'overlapsSync'>> = fc.record({
  role: fc.constantFrom('log' as const, 'compacted' as const),
  store: bytes(16),
  salt: bytes(16),
  number: integer,
  firstLsn: integer,
  previous: integer,
  previousEnd: integer,
})

const segmentHeader: fc.Arbitrary<SegmentHeader> = fc
  .tuple(fields, fc.constantFrom(...formats))
  .map(([each, format]) => ({ ...each, ...format }))

const recordHeader: fc.Arbitrary<RecordHeader> = fc.record({
  kind: fc.nat({ max: 255 }),
  flags: fc.nat({ max: 255 }),
  length: fc.nat({ max: 4 * 1024 * 1024 }),
  id: bytes(32),
  lsn: integer,
  syncedLsn: integer,
  payloadSum: fc.nat({ max: 0xffff_ffff }),
})

function flip(target: Uint8Array, bit: number): void {
  target[bit >> 3] = target[bit >> 3]! ^ (1 << (bit & 7))
}

test('a segment header is read as written, and with any bit flipped it is none', () => {
  fc.assert(
    fc.property(segmentHeader, fc.nat({ max: 8 * SEGMENT_HEADER_BYTES - 1 }), (header, bit) => {
      const encoded = encodeSegmentHeader(crc32, header)
      assert.deepEqual(decodeSegmentHeader(crc32, encoded), { ...header })
      flip(encoded, bit)
      assert.equal(decodeSegmentHeader(crc32, encoded), undefined)
    }),
  )
})

test('a header with a format or a flag that is not known is none', () => {
  const known: SegmentHeader = {
    ...formats[1],
    role: 'log',
    store: new Uint8Array(16),
    salt: new Uint8Array(16),
    number: 1,
    firstLsn: 1,
    previous: 0,
    previousEnd: 0,
  }
  const sealed = (change: (view: DataView) => void): Uint8Array => {
    const encoded = encodeSegmentHeader(crc32, known)
    const view = new DataView(encoded.buffer)
    change(view)
    view.setUint32(SEGMENT_HEADER_BYTES - 4, crc32(encoded.subarray(0, SEGMENT_HEADER_BYTES - 4)), true)
    return encoded
  }
  const asFirst = (view: DataView): void => view.setUint32(8, 1, true)
  const withFlags = (flags: number) => (view: DataView) => view.setUint32(80, flags, true)
  assert.deepEqual(decodeSegmentHeader(crc32, sealed(asFirst)), { ...known, format: 1 })
  assert.deepEqual(decodeSegmentHeader(crc32, sealed(withFlags(1))), { ...known, overlapsSync: true })
  assert.equal(decodeSegmentHeader(crc32, sealed(withFlags(2))), undefined)
  assert.equal(
    decodeSegmentHeader(
      crc32,
      sealed((view) => view.setUint32(8, 3, true)),
    ),
    undefined,
  )
  assert.equal(
    decodeSegmentHeader(
      crc32,
      sealed((view) => {
        asFirst(view)
        withFlags(1)(view)
      }),
    ),
    undefined,
    'format 1 has no flags',
  )
})

test('a record header is read as written; with a bit flipped, elsewhere or under another salt it is none', () => {
  const place = fc.nat({ max: 2 ** 28 }).map((offset) => offset * 8)
  fc.assert(
    fc.property(
      recordHeader,
      place,
      bytes(16),
      fc.nat({ max: 8 * RECORD_HEADER_BYTES - 1 }),
      (header, offset, salt, bit) => {
        const sums = new RecordSums(crc32, salt)
        const encoded = new Uint8Array(RECORD_HEADER_BYTES)
        sums.encode(encoded, offset, header)
        assert.deepEqual(sums.decode(encoded, 0, offset), { ...header })
        assert.equal(sums.decode(encoded, 0, offset + 8), undefined)
        const otherSalt = salt.slice()
        flip(otherSalt, bit % 128)
        assert.equal(new RecordSums(crc32, otherSalt).decode(encoded, 0, offset), undefined)
        flip(encoded, bit)
        assert.equal(sums.decode(encoded, 0, offset), undefined)
      },
    ),
  )
})

test('a payload longer than the bound is refused before anybody allocates for it', () => {
  const sums = new RecordSums(crc32, new Uint8Array(16))
  const encoded = new Uint8Array(RECORD_HEADER_BYTES)
  const header = { kind: 1, flags: 0, id: new Uint8Array(32), lsn: 1, syncedLsn: 0, payloadSum: 0 }
  sums.encode(encoded, 128, { ...header, length: 4 * 1024 * 1024 + 1 })
  assert.equal(sums.decode(encoded, 0, 128), undefined)
})
