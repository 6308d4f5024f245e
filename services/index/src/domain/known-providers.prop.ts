import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Provider } from '@cairn/routing'
import { addressOf } from '@cairn/wire'
import fc from 'fast-check'
import { digestOfProviders, type KnownProviders, mergeProviders, PROVIDERS_MAX } from './known-providers.ts'

const CID = addressOf(new Uint8Array(1))

/** Few ids and ages, so that sets meet. */
const provider = fc
  .record({
    who: fc.integer({ min: 0, max: 99 }),
    age: fc.integer({ min: 0, max: 3 }),
    signed: fc.boolean(),
    url: fc.integer({ min: 0, max: 2 }),
  })
  .map(({ who, age, signed, url }): Provider => {
    const [id, http] = [`peer-${String(who).padStart(2, '0')}`, [`https://${url}.example.org`]]
    const record = { cid: CID, publisher: id, http, seq: age, exp: age, bytes: new Uint8Array([who, age, url]) }
    return { id, http, seenAtMs: age, ...(signed ? { record } : {}) }
  })

const set = fc.array(provider, { maxLength: 120 }).map((list) => mergeProviders(list, []))

function same(one: KnownProviders, other: KnownProviders): void {
  assert.deepEqual(one, other)
}

test('merging is commutative', () => {
  fc.assert(fc.property(set, set, (a, b) => same(mergeProviders(a, b), mergeProviders(b, a))))
})

test('merging is associative, also where sets are full', () => {
  fc.assert(
    fc.property(set, set, set, (a, b, c) =>
      same(mergeProviders(mergeProviders(a, b), c), mergeProviders(a, mergeProviders(b, c))),
    ),
  )
})

test('merging is idempotent', () => {
  fc.assert(
    fc.property(set, set, (a, b) => {
      const both = mergeProviders(a, b)
      same(mergeProviders(both, both), both)
      same(mergeProviders(both, a), both)
    }),
  )
})

test('a set names nobody twice, holds at most 64, and is in order of id', () => {
  fc.assert(
    fc.property(fc.array(provider, { maxLength: 200 }), (list) => {
      const ids = mergeProviders(list, []).map(({ id }) => id)
      assert.deepEqual(ids, [...new Set(ids)].sort())
      assert.ok(ids.length <= PROVIDERS_MAX)
    }),
  )
})

test('what somebody signed is never pushed out by what nobody did', () => {
  fc.assert(
    fc.property(set, set, (a, b) => {
      const merged = mergeProviders(a, b)
      const signed = new Set([...a, ...b].filter(({ record }) => record !== undefined).map(({ id }) => id))
      const shown = merged.filter(({ record }) => record !== undefined).length
      assert.equal(shown, Math.min(signed.size, PROVIDERS_MAX))
    }),
  )
})

test('the digest of a set does not know its ages', () => {
  fc.assert(
    fc.property(set, fc.integer({ min: 1, max: 1e6 }), (providers, laterMs) => {
      const later = providers.map((each) => ({ ...each, seenAtMs: each.seenAtMs + laterMs }))
      assert.equal(digestOfProviders(later), digestOfProviders(providers))
      if (providers.length > 0) assert.notEqual(digestOfProviders(providers.slice(1)), digestOfProviders(providers))
    }),
  )
})

/** What is said of one id is the same whoever says it; who says it differs. */
const named = fc
  .record({ who: fc.integer({ min: 0, max: 149 }), source: fc.integer({ min: 0, max: 3 }) })
  .map(({ who, source }): Provider => {
    const id = `peer-${String(who).padStart(3, '0')}`
    const http = [`http://198.51.${who % 5}.${who}`]
    return { id, http, seenAtMs: who % 7, sources: [`leg ${source}`] }
  })
const namedSet = fc.array(named, { maxLength: 200 }).map((list) => mergeProviders(list, []))

test('merging what several sources named is commutative, associative and idempotent', () => {
  fc.assert(
    fc.property(namedSet, namedSet, namedSet, (a, b, c) => {
      const ids = (set: KnownProviders): readonly string[] => set.map(({ id }) => id)
      assert.deepEqual(ids(mergeProviders(a, b)), ids(mergeProviders(b, a)))
      const [left, right] = [mergeProviders(mergeProviders(a, b), c), mergeProviders(a, mergeProviders(b, c))]
      assert.deepEqual(ids(left), ids(right))
      same(mergeProviders(left, left), left)
    }),
  )
})

test('however many keys a source makes up, every other source keeps its part of the places', () => {
  const count = fc.integer({ min: 1, max: 500 })
  fc.assert(
    fc.property(count, fc.integer({ min: 1, max: 8 }), (forged, honest) => {
      const of = (source: string, many: number, seenAtMs: number): Provider[] =>
        Array.from({ length: many }, (_, at) => {
          return { id: `${source} ${at}`, http: [`http://93.184.${at % 256}.1`], seenAtMs, sources: [source] }
        })
      const all = mergeProviders(of('forger', forged, 1000), of('honest', honest, 1))
      assert.equal(all.filter(({ id }) => id.startsWith('honest')).length, honest)
      assert.ok(all.length <= PROVIDERS_MAX)
    }),
  )
})
