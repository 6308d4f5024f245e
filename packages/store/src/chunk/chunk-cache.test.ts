import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BufferPool, ChunkCache, SharedBytes } from './chunk-cache.ts'

function shared(pool: BufferPool, fill: number, length = 1_000): SharedBytes {
  return new SharedBytes(pool.take(length).fill(fill), pool)
}

/** Read from the drive twice, which is how a chunk gets in. */
function readTwice(cache: ChunkCache, id: string, read: () => SharedBytes): void {
  cache.offer(id, read())
  cache.offer(id, read())
}

test('a chunk is kept from its second read on', () => {
  const pool = new BufferPool(1024 * 1024)
  const cache = new ChunkCache(10_000)
  cache.offer('a', shared(pool, 1))
  assert.equal(cache.get('a'), undefined)
  cache.offer('a', shared(pool, 1))
  assert.deepEqual(cache.get('a')?.bytes, new Uint8Array(1_000).fill(1))
})

test('the least recently used go first, and the bound on bytes holds', () => {
  const pool = new BufferPool(1024 * 1024)
  const cache = new ChunkCache(3_000)
  for (const name of ['a', 'b', 'c']) readTwice(cache, name, () => shared(pool, 1))
  cache.get('a')?.[Symbol.dispose]()
  readTwice(cache, 'd', () => shared(pool, 2))
  assert.deepEqual(
    ['a', 'b', 'c', 'd'].map((name) => cache.get(name) !== undefined),
    [true, false, true, true],
  )
  assert.equal(cache.bytes, 3_000)
  readTwice(cache, 'large', () => shared(pool, 3, 4_000))
  assert.equal(cache.get('large'), undefined)
})

test('a buffer goes back to the pool when the cache and every reader have let go, and not before', () => {
  const pool = new BufferPool(1024 * 1024)
  const cache = new ChunkCache(100_000)
  const whole = shared(pool, 7, 64 * 1024)
  readTwice(cache, 'a', () => whole)
  const [first, second] = [cache.get('a')!, cache.get('a')!]
  cache.remove('a')
  first[Symbol.dispose]()
  first[Symbol.dispose]()
  assert.equal(pool.free, 0)
  assert.deepEqual(second.bytes, new Uint8Array(64 * 1024).fill(7))
  second[Symbol.dispose]()
  assert.equal(pool.free, 1)
})

test('a short chunk is kept in as many bytes as it has, and its buffer goes back to the pool', () => {
  const pool = new BufferPool(1024 * 1024)
  const cache = new ChunkCache(10_000)
  for (let read = 0; read < 2; read += 1) {
    const bytes = shared(pool, 7)
    using _reader = bytes.hold()
    cache.offer('a', bytes)
  }
  assert.equal(cache.get('a')?.bytes.buffer.byteLength, 1_000)
  assert.equal(pool.free, 1)
})

test('the pool keeps no more than its bound, and never a buffer of another size', () => {
  const pool = new BufferPool(2 * 64 * 1024)
  const taken = Array.from({ length: 5 }, () => pool.take(10))
  for (const bytes of taken) pool.give(bytes)
  assert.equal(pool.free, 2)
  pool.give(pool.take(100_000))
  assert.equal(pool.free, 2)
})
