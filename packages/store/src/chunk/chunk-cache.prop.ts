import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { BufferPool, ChunkCache, RecentReads, SharedBytes } from './chunk-cache.ts'

const BYTES_MAX = 1_000

interface Named {
  readonly id: string
  readonly length: number
}

const sum = (list: readonly Named[]): number => list.reduce((total, { length }) => total + length, 0)

/** The same rules in lists, oldest first. */
class PlainCache {
  kept: Named[] = []
  names: Named[] = []

  read(id: string, length: number): 'hit' | 'miss' {
    const found = this.kept.find((each) => each.id === id)
    if (found !== undefined) {
      this.kept = [...this.kept.filter((each) => each !== found), found]
      return 'hit'
    }
    if (length > BYTES_MAX) return 'miss'
    const wasRead = this.names.some((each) => each.id === id)
    this.names = this.names.filter((each) => each.id !== id)
    const list = wasRead ? this.kept : this.names
    list.push({ id, length })
    while (sum(list) > BYTES_MAX) list.shift()
    return 'miss'
  }

  remove(id: string): void {
    this.kept = this.kept.filter((each) => each.id !== id)
  }
}

const POOL = new BufferPool(0)

function read(cache: ChunkCache, id: string, length: number): 'hit' | 'miss' {
  const held = cache.get(id)
  if (held === undefined) cache.offer(id, new SharedBytes(new Uint8Array(length), POOL))
  held?.[Symbol.dispose]()
  return held === undefined ? 'miss' : 'hit'
}

/** Each name has its length, some of them more than the cache takes. */
const lengthOf = (name: number): number => (name * 97) % 1_100

const operation = fc.record({ tag: fc.constantFrom('read', 'read', 'read', 'remove'), name: fc.nat(24) })

test('hits, misses and what is kept are those of the plain lists, whatever is read and removed', () => {
  const property = fc.property(fc.array(operation, { maxLength: 200 }), (operations) => {
    const cache = new ChunkCache(BYTES_MAX)
    const plain = new PlainCache()
    for (const { tag, name } of operations) {
      const id = String(name)
      if (tag === 'read') {
        assert.equal(read(cache, id, lengthOf(name)), plain.read(id, lengthOf(name)))
      } else {
        cache.remove(id)
        plain.remove(id)
      }
      assert.equal(cache.bytes, sum(plain.kept))
    }
  })
  fc.assert(property)
})

test('what is hot stays, however much passes by once, and however often more than the cache holds passes again', () => {
  const property = fc.property(fc.nat(40), fc.integer({ min: 11, max: 60 }), fc.nat(3), (once, length, rounds) => {
    const cache = new ChunkCache(BYTES_MAX)
    for (const _twice of [1, 2]) for (let hot = 0; hot < 10; hot += 1) read(cache, `hot ${hot}`, 100)
    for (let name = 0; name < once; name += 1) read(cache, `once ${name}`, 100)
    for (let round = 0; round < rounds; round += 1) {
      for (let name = 0; name < length; name += 1) assert.equal(read(cache, `scan ${name}`, 100), 'miss')
    }
    for (let hot = 0; hot < 10; hot += 1) assert.equal(read(cache, `hot ${hot}`, 100), 'hit')
  })
  fc.assert(property)
})

test('names are remembered up to a number, even of chunks that are next to nothing', () => {
  const recent = new RecentReads(BYTES_MAX)
  for (let name = 0; name < 40_000; name += 1) assert.equal(recent.again(String(name), 0), false)
  assert.equal(recent.again('39999', 0), true)
  assert.equal(recent.again('39999', 0), false, 'and forgotten with the second read')
  assert.equal(recent.again('0', 0), false)
})
