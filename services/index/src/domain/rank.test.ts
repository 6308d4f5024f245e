import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Provider } from '@cairn/routing'
import { addressOf } from '@cairn/wire'
import fc from 'fast-check'
import { latencyClass, type RankOptions, rankProviders } from './rank.ts'

const NOW = 1_700_000_000_000
const CID = addressOf(new Uint8Array(1))

const OPTIONS: RankOptions = {
  nowMs: NOW,
  region: undefined,
  regionBias: 0.25,
  halfLifeMs: 600_000,
  latencyBucketsMs: [30, 80, 200, 500],
  latencyMs: () => undefined,
  allowedRegions: [],
  denied: [],
}

function signed(id: string, ageMs = 0, region?: string): Provider {
  const http = [`https://${id}.example.org`]
  const record = { cid: CID, publisher: id, http, seq: 1, exp: 1, bytes: new Uint8Array(1) }
  return { id, http, seenAtMs: NOW - ageMs, record, ...(region === undefined ? {} : { region }) }
}

function order(providers: readonly Provider[], options: Partial<RankOptions> = {}): string[] {
  return rankProviders(providers, { ...OPTIONS, ...options }).map(({ provider }) => provider.id)
}

describe('ranking', () => {
  test('the score is the formula: region, half the freshness, half the latency class', () => {
    const [row] = rankProviders([signed('a', 600_000, 'eu')], { ...OPTIONS, region: 'eu', latencyMs: () => 50 })
    assert.deepEqual([row?.score, row?.class], [0.25 + 0.75 * (0.25 + 0.375), 'region_match'])
  })

  test('the fresher first; ties by id', () => {
    assert.deepEqual(order([signed('c'), signed('a', 1000), signed('b')]), ['b', 'c', 'a'])
  })

  test('sixty fresh keys of one source do not stand before the first of another', () => {
    const forged = Array.from({ length: 60 }, (_, at) => ({ ...signed(`forged-${at}`), sources: ['bad'] }))
    const honest = { ...signed('honest', 3_600_000), sources: ['good'] }
    assert.equal(order([...forged, honest]).indexOf('honest'), 1)
  })

  test('of one source, the best of each network comes before the second of any', () => {
    const at = (id: string, url: string, ageMs: number): Provider => ({ ...signed(id, ageMs), http: [url] })
    const rows = [
      at('a', 'http://93.184.216.1', 0),
      at('b', 'http://93.184.216.2', 1000),
      at('c', 'http://198.51.100.1', 3_600_000),
      at('d', 'http://[2001:db8:1::1]', 1_800_000),
      at('e', 'http://[2001:db8:1:2::1]', 0),
    ]
    assert.deepEqual(order(rows), ['a', 'e', 'c', 'b', 'd'])
  })

  test('the faster first, as far as we measured', () => {
    const latencyMs = (id: string): number => ({ a: 600, b: 100, c: 10 })[id] ?? 0
    assert.deepEqual(order([signed('a'), signed('b'), signed('c')], { latencyMs }), ['c', 'b', 'a'])
  })

  test('latency classes are 1, .75, .5, .25 and 0', () => {
    const classes = [30, 31, 80, 200, 500, 501].map((ms) => latencyClass(ms, OPTIONS.latencyBucketsMs))
    assert.deepEqual(classes, [1, 0.75, 0.75, 0.5, 0.25, 0])
    assert.equal(latencyClass(undefined, OPTIONS.latencyBucketsMs), 0.5)
  })

  test('who nobody signed for comes last, whatever else speaks for it', () => {
    const { record: _, ...unsigned } = signed('a', 0, 'eu')
    const rows = rankProviders([unsigned, signed('b', 1e9)], { ...OPTIONS, region: 'eu', latencyMs: () => 1 })
    assert.deepEqual(
      rows.map(({ provider, class: each }) => [provider.id, each]),
      [
        ['b', 'any'],
        ['a', 'unverified'],
      ],
    )
  })

  test('denied providers are never shown, and allowed regions are the only ones', () => {
    const providers = [signed('a', 0, 'eu'), signed('b', 0, 'us'), signed('c')]
    assert.deepEqual(order(providers, { denied: ['a'] }), ['b', 'c'])
    assert.deepEqual(order(providers, { allowedRegions: ['us'] }), ['b'])
  })

  test('the order does not depend on the order they came in, and what they claim moves the score by a quarter at most', () => {
    const provider = fc.tuple(fc.stringMatching(/^[a-z]{1,3}$/), fc.nat(1e7), fc.constantFrom(undefined, 'eu', 'us'))
    fc.assert(
      fc.property(fc.uniqueArray(provider, { selector: ([id]) => id }), fc.nat(), (rows, seed) => {
        const providers = rows.map(([id, ageMs, region]) => signed(id, ageMs, region))
        const shuffled = [...providers].sort((a, b) => ((a.id.length * seed) % 7) - ((b.id.length * seed) % 5))
        assert.deepEqual(order(shuffled, { region: 'eu' }), order(providers, { region: 'eu' }))
        for (const each of providers) {
          const [honest] = rankProviders([{ ...each, region: 'xx' }], { ...OPTIONS, region: 'eu' })
          const [boasting] = rankProviders([{ ...each, region: 'eu' }], { ...OPTIONS, region: 'eu' })
          const gain = (boasting?.score ?? 0) - (honest?.score ?? 0)
          assert.ok(gain >= 0 && gain <= 0.250001 && (boasting?.score ?? 2) <= 1)
        }
      }),
    )
  })
})
