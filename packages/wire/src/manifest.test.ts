import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { CairnError } from '@cairn/kernel'
import * as dagCbor from '@ipld/dag-cbor'
import fc from 'fast-check'
import { CHUNK_SIZES, KIB, MIB, noise } from '../test/objects.ts'
import { type Address, addressOf, digestOf } from './address.ts'
import {
  chunkAddress,
  chunkLength,
  createManifest,
  decodeManifest,
  encodeManifest,
  MAX_MANIFEST_BYTES,
  type Manifest,
  verifyChunk,
} from './manifest.ts'
import { type BuiltObject, ManifestBuilder } from './manifest-builder.ts'

const bytes = noise(3 * MIB)

function build(object: Uint8Array, chunkSize: number): BuiltObject {
  const builder = new ManifestBuilder(chunkSize)
  for (let at = 0; at < object.length; at += chunkSize) builder.add(object.subarray(at, at + chunkSize))
  return builder.finish()
}

function manifestOf(object: Uint8Array, chunkSize = 64 * KIB): Manifest {
  const built = build(object, chunkSize)
  assert.equal(built.kind, 'chunked')
  return (built as BuiltObject & { kind: 'chunked' }).manifest
}

/** The map of the format, as the general library would write it. */
function fieldsOf(manifest: Manifest): Record<string, unknown> {
  const list = (packed: Uint8Array): Uint8Array[] =>
    Array.from({ length: packed.length / 32 }, (_, index) => packed.subarray(32 * index, 32 * index + 32))
  return {
    v: 2,
    id: digestOf(manifest.id),
    size: manifest.size,
    chunk_size: manifest.chunkSize,
    chunks: list(manifest.chunkIds),
    cvs: list(manifest.chainingValues),
  }
}

describe('building', () => {
  test('the id is the address of the bytes, at every chunk size and around chunk edges', () => {
    for (const chunkSize of CHUNK_SIZES) {
      for (const size of [
        0,
        1,
        chunkSize - 1,
        chunkSize,
        chunkSize + 1,
        2 * chunkSize,
        2 * chunkSize + 1023,
        3 * MIB,
      ]) {
        const object = bytes.subarray(0, size)
        const built = build(object, chunkSize)
        assert.equal(built.id, addressOf(object), `${size} at ${chunkSize}`)
        assert.equal(built.size, size)
        assert.equal(built.kind, size <= chunkSize ? 'single' : 'chunked')
      }
    }
  })

  test('each chunk is named by its own hash', () => {
    const object = bytes.subarray(0, 200 * KIB)
    const builder = new ManifestBuilder()
    const named = [0, 1, 2, 3].map((index) => builder.add(object.subarray(index * 64 * KIB, (index + 1) * 64 * KIB)))
    const built = builder.finish()
    assert.ok(built.kind === 'chunked')
    for (const [index, address] of named.entries()) {
      const chunk = object.subarray(index * 64 * KIB, (index + 1) * 64 * KIB)
      assert.equal(address, addressOf(chunk))
      assert.equal(chunkAddress(built.manifest, index), address)
      assert.equal(chunkLength(built.manifest, index), chunk.length)
    }
    assert.throws(() => chunkLength(built.manifest, 4), /no chunk 4: the object has 4/)
    assert.throws(() => chunkAddress(built.manifest, -1), /no chunk -1/)
  })

  test('a chunk after a short one, an empty or an oversized chunk, and an illegal chunk size are refused', () => {
    const builder = new ManifestBuilder(16 * KIB)
    assert.throws(() => builder.add(new Uint8Array(0)), /1 to 16384 bytes; this one has 0/)
    assert.throws(() => builder.add(new Uint8Array(16 * KIB + 1)), /this one has 16385/)
    builder.add(new Uint8Array(100))
    assert.throws(() => builder.add(new Uint8Array(100)), /follows one that was short/)
    for (const size of [0, 8 * KIB, 65_535, 48 * KIB, 2 * MIB, -64 * KIB, Number.NaN]) {
      assert.throws(() => new ManifestBuilder(size), /power of two from 16 KiB to 1 MiB/)
    }
  })
})

describe('verifyChunk', () => {
  const object = bytes.subarray(0, 200 * KIB)
  const manifest = manifestOf(object)
  const chunk = (index: number): Uint8Array => object.slice(index * 64 * KIB, (index + 1) * 64 * KIB)
  const refuses = (index: number, candidate: Uint8Array): void =>
    assert.throws(() => verifyChunk(manifest, index, candidate), { kind: 'Integrity' })

  test('accepts each chunk in any order', () => {
    for (const index of [3, 0, 2, 1]) verifyChunk(manifest, index, chunk(index))
  })

  test('refuses one flipped bit, a chunk in another place, and a wrong length', () => {
    for (const at of [0, 1023, 1024, 65_535]) {
      const bad = chunk(1)
      bad[at] = (bad[at] ?? 0) ^ 1
      refuses(1, bad)
    }
    refuses(1, chunk(0))
    refuses(3, chunk(0))
    refuses(0, chunk(0).subarray(1))
    refuses(3, Uint8Array.from([...chunk(3), 0]))
  })

  test('refuses equal bytes in another place: the place is part of the proof', () => {
    const zeros = manifestOf(new Uint8Array(192 * KIB))
    const moved = { ...zeros, chainingValues: zeros.chainingValues.slice() }
    moved.chainingValues.copyWithin(0, 32, 64)
    assert.throws(() => verifyChunk(moved, 0, new Uint8Array(64 * KIB)), { kind: 'Integrity' })
    verifyChunk(zeros, 0, new Uint8Array(64 * KIB))
  })
})

describe('encoding', () => {
  test('is byte for byte what the general DAG-CBOR library writes, and reads back', () => {
    for (const [size, chunkSize] of [
      [64 * KIB + 1, 64 * KIB],
      [3 * MIB, 16 * KIB],
      [MIB + 1, MIB],
      [23 * 16 * KIB, 16 * KIB],
      [24 * 16 * KIB, 16 * KIB],
    ] as const) {
      const manifest = manifestOf(bytes.subarray(0, size), chunkSize)
      const encoded = encodeManifest(manifest)
      assert.deepEqual(encoded, Uint8Array.from(dagCbor.encode(fieldsOf(manifest))))
      assert.deepEqual(decodeManifest(encoded, manifest.id), manifest)
    }
  })

  test('with sizes past 2^32 reads back too', () => {
    // A real object of that size is 64 GiB: the packed lists are made up, only their shape and fold are checked.
    const chunkCount = 2 ** 18
    const parts = {
      size: chunkCount * MIB - 5,
      chunkSize: MIB,
      chunkIds: noise(32 * chunkCount),
      chainingValues: noise(32 * chunkCount).reverse(),
    }
    const manifest = createManifest(parts)
    assert.ok(manifest.size > 2 ** 32)
    assert.deepEqual(decodeManifest(encodeManifest(manifest), manifest.id), manifest)
  })
})

describe('a received manifest is refused', () => {
  const object = bytes.subarray(0, 200 * KIB)
  const manifest = manifestOf(object)
  const fields = fieldsOf(manifest)
  const decodeFields = (changes: Record<string, unknown>, id: Address = manifest.id): Manifest =>
    decodeManifest(Uint8Array.from(dagCbor.encode({ ...fields, ...changes })), id)
  const list = (name: string): Uint8Array[] => fields[name] as Uint8Array[]

  test('unchanged it is accepted', () => assert.deepEqual(decodeFields({}), manifest))

  const cases: readonly [name: string, changes: Record<string, unknown>, kind: string, message: RegExp][] = [
    ['version 1', { v: 1 }, 'Malformed', /expected version 2 at byte 3/],
    ['another id', { id: new Uint8Array(32) }, 'Integrity', /folds to b3:/],
    ['a short id', { id: new Uint8Array(31) }, 'Malformed', /string of 32 bytes/],
    ['a chaining value too few', { cvs: list('cvs').slice(1) }, 'Malformed', /4 chunks of 65536; 3 are listed/],
    ['a chunk too many', { chunks: [...list('chunks'), new Uint8Array(32)] }, 'Malformed', /5 are listed/],
    [
      'a short chunk id',
      { chunks: [...list('chunks').slice(1), new Uint8Array(31)] },
      'Malformed',
      /string of 32 bytes/,
    ],
    ['swapped chaining values', { cvs: [...list('cvs')].reverse() }, 'Integrity', /folds to/],
    ['a size one chunk larger', { size: 257 * KIB }, 'Malformed', /5 chunks/],
    ['a negative size', { size: -1 }, 'Malformed', /expected a size/],
    ['a fractional size', { size: 1.5 }, 'Malformed', /expected a size/],
    ['a size past 2^53', { size: 2n ** 53n }, 'Malformed', /expected a size below 2\^53/],
    ['a chunk size that is no power of two', { chunk_size: 65_535 }, 'Malformed', /power of two/],
    ['a chunk size below 16 KiB', { chunk_size: 8 * KIB }, 'Malformed', /power of two/],
    ['a chunk size above 1 MiB', { chunk_size: 2 * MIB }, 'Malformed', /power of two/],
    ['one more key', { x: 1 }, 'Malformed', /map of six keys/],
    ['chunks that are no list', { chunks: 'x' }, 'Malformed', /expected a list/],
  ]
  for (const [name, changes, kind, message] of cases) {
    test(name, () => assert.throws(() => decodeFields(changes), { kind, message }))
  }

  test('when it is another object’s', () => {
    const other = addressOf(bytes.subarray(0, 5))
    assert.throws(() => decodeFields({}, other), { kind: 'Integrity', message: /was asked for/ })
  })

  test('with one chunk: it is its own proof', () => {
    const changes = { size: 64 * KIB, chunks: list('chunks').slice(0, 1), cvs: list('cvs').slice(0, 1) }
    assert.throws(() => decodeFields(changes), { kind: 'Malformed', code: 'single_chunk' })
    assert.throws(() => decodeFields({ size: 0, chunks: [], cvs: [] }), { code: 'single_chunk' })
  })

  test('with a length that promises more than there is, before anything is allocated', () => {
    const head = Buffer.from('a6617602626964', 'hex')
    for (const length of ['9b00000fffffffffff', '9affffffff', '990100']) {
      const hostile = Buffer.concat([
        head,
        Buffer.from('5820', 'hex'),
        Buffer.alloc(32),
        Buffer.from(`63637673${length}`, 'hex'),
      ])
      assert.throws(() => decodeManifest(hostile, manifest.id), { kind: 'Malformed', message: /more items/ })
    }
    assert.throws(() => decodeManifest(new Uint8Array(MAX_MANIFEST_BYTES + 1), manifest.id), { kind: 'TooLarge' })
  })

  test('with keys in another order, or trailing bytes', () => {
    const encoded = encodeManifest(manifest)
    assert.throws(() => decodeManifest(Uint8Array.from([...encoded, 0]), manifest.id), /expected the end/)
    assert.throws(() => decodeManifest(encoded.subarray(0, -1), manifest.id), { kind: 'Malformed' })
    const reordered = Buffer.concat([
      encoded.subarray(0, 1),
      encoded.subarray(4, 40),
      encoded.subarray(1, 4),
      encoded.subarray(40),
    ])
    assert.throws(() => decodeManifest(reordered, manifest.id), { kind: 'Malformed' })
  })

  test('never with other chaining values: after any edit, what is still accepted cannot release a wrong byte', () => {
    const encoded = encodeManifest(manifest)
    const edits = fc.record({ at: fc.nat(encoded.length - 1), byte: fc.nat(255), cut: fc.boolean() })
    fc.assert(
      fc.property(edits, ({ at, byte, cut }) => {
        const edited = encoded.slice(0, cut ? at : encoded.length)
        if (!cut) edited[at] = byte
        if (Buffer.compare(edited, encoded) === 0) return
        let accepted: Manifest
        try {
          accepted = decodeManifest(edited, manifest.id)
        } catch (error) {
          assert.ok(error instanceof CairnError, String(error))
          return
        }
        assert.deepEqual(accepted.chainingValues, manifest.chainingValues)
        assert.deepEqual(encodeManifest(accepted), edited)
        if (accepted.size === manifest.size && accepted.chunkSize === manifest.chunkSize) return
        const last = object.subarray((accepted.chunkCount - 1) * accepted.chunkSize, accepted.size)
        assert.throws(() => verifyChunk(accepted, accepted.chunkCount - 1, last), { kind: 'Integrity' })
      }),
      { numRuns: 3000 },
    )
  })
})

test('building, encoding and decoding agree for any object and legal chunk size', () => {
  const objects = fc.record({ size: fc.nat(300 * KIB), chunkSize: fc.constantFrom(16 * KIB, 32 * KIB, 64 * KIB) })
  fc.assert(
    fc.property(objects, ({ size, chunkSize }) => {
      const built = build(bytes.subarray(0, size), chunkSize)
      assert.equal(built.id, addressOf(bytes.subarray(0, size)))
      if (built.kind === 'chunked') {
        assert.deepEqual(decodeManifest(encodeManifest(built.manifest), built.id), built.manifest)
      }
    }),
    { numRuns: 60 },
  )
})
