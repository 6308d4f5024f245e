import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readJsonVector } from '../../test/vectors.ts'
import type { Blake3Engine } from './engine.ts'
import { blake3, createBlake3, deriveBlake3Key, keyedBlake3 } from './hash.ts'
import { engine as native } from './native.ts'
import { engine as portable } from './portable.ts'

interface Blake3Vectors {
  readonly key: string
  readonly context_string: string
  readonly cases: readonly {
    readonly input_len: number
    readonly hash: string
    readonly keyed_hash: string
    readonly derive_key: string
  }[]
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
const input = (length: number): Uint8Array => Uint8Array.from({ length }, (_, index) => index % 251)

const engines: readonly [string, Blake3Engine][] = [
  ['native', native],
  ['portable', portable],
]

for (const [name, engine] of engines) {
  describe(`blake3 ${name} engine`, () => {
    test('agrees with every official vector in hash, keyed and derive-key mode', () => {
      const vectors = readJsonVector('blake3/test_vectors.json') as Blake3Vectors
      const key = new TextEncoder().encode(vectors.key)
      assert.equal(vectors.cases.length, 35)
      for (const vector of vectors.cases) {
        const bytes = input(vector.input_len)
        assert.equal(hex(engine.hash(bytes)), vector.hash.slice(0, 64), `hash of ${vector.input_len}`)
        assert.equal(hex(engine.keyedHash(key, bytes)), vector.keyed_hash.slice(0, 64), `keyed ${vector.input_len}`)
        const derived = engine.deriveKey(vectors.context_string, bytes)
        assert.equal(hex(derived), vector.derive_key.slice(0, 64), `derive-key ${vector.input_len}`)
      }
    })

    test('streams to the one-shot digest whatever the cuts, and can be asked twice', () => {
      const bytes = input(10_000)
      for (const cut of [1, 63, 64, 65, 1023, 1024, 1025, 9_999]) {
        const hasher = engine.createHasher()
        for (let offset = 0; offset < bytes.length; offset += cut) hasher.update(bytes.subarray(offset, offset + cut))
        assert.deepEqual(hasher.digest(), engine.hash(bytes))
        assert.deepEqual(hasher.digest(), engine.hash(bytes))
        const longer = hasher.update(bytes).digest()
        assert.deepEqual(longer, engine.hash(Uint8Array.from([...bytes, ...bytes])), 'digest does not end the stream')
      }
    })

    test('reads a view at its own offset and returns a plain Uint8Array', () => {
      const view = input(4096).subarray(100, 300)
      assert.deepEqual(engine.hash(view), engine.hash(Uint8Array.from(view)))
      assert.deepEqual(engine.keyedHash(view.subarray(0, 32), view), engine.keyedHash(view.slice(0, 32), view))
      for (const digest of [engine.hash(view), engine.deriveKey('x', view), engine.createHasher().digest()]) {
        assert.equal(Object.getPrototypeOf(digest), Uint8Array.prototype)
        assert.equal(digest.length, 32)
      }
    })
  })
}

test('on Node the native engine serves the public functions', () => {
  const bytes = input(5000)
  const key = input(32)
  assert.deepEqual(blake3(bytes), native.hash(bytes))
  assert.deepEqual(createBlake3().update(bytes).digest(), native.hash(bytes))
  assert.deepEqual(keyedBlake3(key, bytes), portable.keyedHash(key, bytes))
  assert.deepEqual(deriveBlake3Key('cairn test', bytes), portable.deriveKey('cairn test', bytes))
})

test('a key that is not 32 bytes is refused with its length', () => {
  assert.throws(() => keyedBlake3(input(31), input(1)), /has 32 bytes; this one has 31/)
})
