import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { SystemClock } from '@cairn/kernel'
import { CHUNK_SIZES, chainingValues, hex, KIB, MIB, noise, randomSizes } from '../../test/objects.ts'
import { readJsonVector } from '../../test/vectors.ts'
import { chainingValue, fold } from './chaining.ts'
import { compressLeaf, compressParent, compressSubtree } from './compress.ts'
import { blake3 } from './hash.ts'
import { instantiateLanes } from './lanes.ts'

const clock = new SystemClock()

describe('fold of chaining values', () => {
  test('equals the native hash for every size around a chunk edge up to 1 MiB', () => {
    const bytes = noise(MIB + 2 * KIB)
    let sizes = 0
    for (const chunkSize of CHUNK_SIZES) {
      for (let edge = chunkSize; edge <= MIB; edge += chunkSize) {
        for (const delta of [-1025, -1024, -65, -64, -63, -1, 0, 1, 63, 64, 65, 1024, 1025]) {
          const size = edge + delta
          if (size <= chunkSize) continue
          const object = bytes.subarray(0, size)
          assert.equal(hex(fold(chainingValues(object, chunkSize))), hex(blake3(object)), `${size} at ${chunkSize}`)
          sizes++
        }
      }
    }
    assert.ok(sizes > 1000)
  })

  test('equals the native hash for random sizes up to 64 MiB', () => {
    const bytes = noise(64 * MIB)
    for (const { size, chunkSize } of randomSizes(40)) {
      const object = bytes.subarray(0, size)
      assert.equal(hex(fold(chainingValues(object, chunkSize))), hex(blake3(object)), `${size} at ${chunkSize}`)
    }
  })

  test('equals the plain recursion of the paper for more chunks than one reduction window holds', () => {
    const leaf = noise(16 * KIB)
    for (const count of [1023, 1024, 1025, 2048, 2049, 3000]) {
      const object = new Uint8Array(count * leaf.length - 77)
      for (let offset = 0; offset < object.length; offset += leaf.length) {
        object.set(leaf.subarray(0, object.length - offset), offset)
        object[offset] = offset / leaf.length
      }
      assert.equal(hex(fold(chainingValues(object, 16 * KIB))), hex(blake3(object)), `${count} chunks`)
    }
  })

  test('refuses a lone or ragged list of chaining values', () => {
    for (const length of [0, 31, 32, 33, 63, 65]) assert.throws(() => fold(new Uint8Array(length)), /two or more/)
  })
})

describe('chaining values', () => {
  test('agree with the plain recursion for every ragged length of a small chunk and high counters', () => {
    const bytes = noise(16 * KIB)
    for (let length = 1; length <= 5 * KIB; length += 37) {
      const chunk = bytes.subarray(0, length)
      assert.equal(hex(chainingValue(chunk, 0)), hex(compressSubtree(chunk, 0)), `${length} bytes`)
    }
    for (const firstLeaf of [16, 2 ** 20, 2 ** 32 - 16, 2 ** 32, 2 ** 42]) {
      assert.equal(hex(chainingValue(bytes, firstLeaf)), hex(compressSubtree(bytes, firstLeaf)), `leaf ${firstLeaf}`)
    }
  })

  test('are not the chunk hash, and depend on the place of the chunk', () => {
    const chunk = noise(64 * KIB)
    const values = [blake3(chunk), chainingValue(chunk, 0), chainingValue(chunk, 64)].map(hex)
    assert.equal(new Set(values).size, 3)
  })

  test('a chunk of no bytes or more than 1 MiB is refused', () => {
    assert.throws(() => chainingValue(new Uint8Array(0), 0), /1 to 1048576 bytes/)
    assert.throws(() => chainingValue(new Uint8Array(MIB + 1), 0), /1 to 1048576 bytes/)
  })

  test('the rate on this machine is printed (target 0.8 GB/s on one core)', (t) => {
    const bytes = noise(32 * MIB)
    let best = 0
    for (let round = 0; round < 8; round++) {
      const started = clock.now()
      for (let offset = 0; offset < bytes.length; offset += 64 * KIB) {
        chainingValue(bytes.subarray(offset, offset + 64 * KIB), offset / KIB)
      }
      best = Math.max(best, bytes.length / (clock.now() - started) / 1e6)
    }
    t.diagnostic(`chaining values of 64 KiB chunks: ${best.toFixed(2)} GB/s (target 0.80)`)
  })
})

describe('published vectors', () => {
  test('official BLAKE3 hashes come out of our tree for every input above one leaf', () => {
    const vectors = readJsonVector('blake3/test_vectors.json') as { cases: { input_len: number; hash: string }[] }
    const large = vectors.cases.filter((vector) => vector.input_len > KIB)
    assert.ok(large.length >= 15)
    for (const vector of large) {
      const bytes = Uint8Array.from({ length: vector.input_len }, (_, index) => index % 251)
      // Power-of-two chunks of any size fold alike; the format's minimum would leave most vectors in one chunk.
      for (let chunkSize = KIB; chunkSize < bytes.length; chunkSize *= 2) {
        assert.equal(hex(fold(chainingValues(bytes, chunkSize))), vector.hash.slice(0, 64), `${vector.input_len}`)
      }
    }
  })

  test('bao outboard encodings, which hold every inner node, come out of our tree', () => {
    const vectors = readJsonVector('bao/test_vectors.json') as {
      outboard: { input_len: number; bao_hash: string; encoded_blake3: string }[]
    }
    assert.equal(vectors.outboard.length, 13)
    for (const vector of vectors.outboard) {
      const bytes = baoInput(vector.input_len)
      const prefix = new Uint8Array(8)
      new DataView(prefix.buffer).setBigUint64(0, BigInt(bytes.length), true)
      const outboard = Uint8Array.from([...prefix, ...preOrder(bytes, 0)])
      assert.equal(hex(blake3(outboard)), vector.encoded_blake3, `outboard of ${vector.input_len}`)
      if (bytes.length > KIB) assert.equal(hex(fold(chainingValues(bytes, KIB))), vector.bao_hash)
    }
  })
})

function baoInput(length: number): Uint8Array {
  const words = Uint32Array.from({ length: Math.ceil(length / 4) }, (_, index) => index + 1)
  return new Uint8Array(words.buffer).subarray(0, length)
}

/** The inner nodes of a bao tree, parents before children: each is the chaining values of its two sides. */
function preOrder(bytes: Uint8Array, counter: number): number[] {
  if (bytes.length <= KIB) return []
  const leftLeaves = 2 ** Math.floor(Math.log2(Math.ceil(bytes.length / KIB) - 1))
  const left = bytes.subarray(0, leftLeaves * KIB)
  const right = bytes.subarray(leftLeaves * KIB)
  return [
    ...chainingValue(left, counter),
    ...chainingValue(right, counter + leftLeaves),
    ...preOrder(left, counter),
    ...preOrder(right, counter + leftLeaves),
  ]
}

test('the scalar compression agrees with the native hash on two leaves', () => {
  const bytes = noise(2 * KIB)
  const root = compressParent(compressLeaf(bytes.subarray(0, KIB), 0), compressLeaf(bytes.subarray(KIB), 1), true)
  assert.equal(hex(root), hex(blake3(bytes)))
})

describe('the vector kernel', () => {
  test('compiles on this host, so the rates above are its own', () => {
    assert.notEqual(instantiateLanes(), undefined)
  })

  test('is replaced by plain code with the same results where the host has no WebAssembly', async () => {
    // A second copy of the module: the kernel is made at first use.
    const plain = (await import(new URL('chaining.ts?plain', import.meta.url).href)) as typeof import('./chaining.ts')
    const WebAssembly: unknown = Reflect.get(globalThis, 'WebAssembly')
    Reflect.deleteProperty(globalThis, 'WebAssembly')
    try {
      const object = noise(5 * 16_384 + 5_000)
      const values = Array.from({ length: 6 }, (_, at) =>
        plain.chainingValue(object.subarray(at * 16_384, (at + 1) * 16_384), at * 16),
      )
      assert.equal(hex(plain.fold(Buffer.concat(values))), hex(blake3(object)))
      assert.equal(hex(plain.fold(Buffer.concat(values.slice(0, 2)))), hex(blake3(object.subarray(0, 32_768))))
      const many = Array.from({ length: 2_049 }, (_, at) => values[at % 6]!)
      assert.equal(hex(plain.fold(Buffer.concat(many))), hex(fold(Buffer.concat(many))))
    } finally {
      Object.assign(globalThis, { WebAssembly })
    }
  })
})
