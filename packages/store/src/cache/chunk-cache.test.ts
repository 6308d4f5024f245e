import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BufferPool, SharedBytes } from './chunk-bytes.ts'
import { ChunkCache } from './chunk-cache.ts'

function shared(pool: BufferPool, fill: number, length = 1_000): SharedBytes {
  return new SharedBytes(pool.take(length).fill(fill), pool)
}

test('the least recently used go first, and the bound on bytes holds', () => {
  const pool = new BufferPool(1024 * 1024)
  const cache = new ChunkCache(3_000)
  for (const name of ['a', 'b', 'c']) cache.add(name, shared(pool, 1))
  cache.get('a')?.[Symbol.dispose]()
  cache.add('d', shared(pool, 2))
  assert.deepEqual(
    ['a', 'b', 'c', 'd'].map((name) => cache.get(name) !== undefined),
    [true, false, true, true],
  )
  assert.equal(cache.bytes, 3_000)
  cache.add('large', shared(pool, 3, 4_000))
  assert.equal(cache.get('large'), undefined)
})

test('a buffer goes back to the pool when the cache and every reader have let go, and not before', () => {
  const pool = new BufferPool(1024 * 1024)
  const cache = new ChunkCache(10_000)
  cache.add('a', shared(pool, 7))
  const [first, second] = [cache.get('a')!, cache.get('a')!]
  cache.remove('a')
  first[Symbol.dispose]()
  first[Symbol.dispose]()
  assert.equal(pool.free, 0)
  assert.deepEqual(second.bytes, new Uint8Array(1_000).fill(7))
  second[Symbol.dispose]()
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
