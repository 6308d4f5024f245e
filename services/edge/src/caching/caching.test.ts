import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseCacheControl, parseTargeted } from './cache-control.ts'
import { cacheStatus, isSelected, mayStandIn, requestDirectives, selectingOf, useOf, validatorsOf } from './reuse.ts'
import { ageMs, freshnessOf, type HeaderMap } from './stored-response.ts'
import { invalidatedBy, isStorable, keptHeaders, passedNames, updatedHeaders, varyOf } from './storing.ts'

/** Wed, 15 Nov 2023 00:00:00 GMT */
const NOW = 1_700_006_400_000
const DATE = 'Wed, 15 Nov 2023 00:00:00 GMT'

function freshness(headers: HeaderMap, status = 200, requestedAt = NOW) {
  return freshnessOf({ status, headers, requestedAt, receivedAt: NOW })
}

describe('Cache-Control', () => {
  const rows: readonly (readonly [header: string, name: string, seconds: number | 'invalid' | undefined])[] = [
    ['max-age=60', 'max-age', 60],
    ['MAX-AGE=60', 'max-age', 60],
    ['max-age="60"', 'max-age', 60],
    ['max-age=0060', 'max-age', 60],
    ['max-age=60, max-age=10', 'max-age', 60],
    ['a="max-age=1, x", max-age=60', 'max-age', 60],
    ['a="\\", max-age=1", max-age=60', 'max-age', 60],
    ['max-age=99999999999', 'max-age', 2 ** 31],
    ["max-age='60'", 'max-age', 'invalid'],
    ['max-age=-1', 'max-age', 'invalid'],
    ['max-age=1.5', 'max-age', 'invalid'],
    ['max-age', 'max-age', 'invalid'],
    ['max-age =60', 'max-age', 'invalid'],
    ['max-age=6a', 'max-age', 'invalid'],
    ['public', 'max-age', undefined],
    ['', 'max-age', undefined],
  ]
  for (const [header, name, seconds] of rows)
    test(`${header} has ${name} ${seconds}`, () => assert.equal(parseCacheControl(header).seconds(name), seconds))

  test('a qualified directive names fields and is not plain', () => {
    const directives = parseCacheControl('no-cache="Set-Cookie, a", private')
    assert.deepEqual(directives.fields('no-cache'), ['set-cookie', 'a'])
    assert.deepEqual([directives.isPlain('no-cache'), directives.isPlain('private')], [false, true])
  })
})

describe('CDN-Cache-Control', () => {
  for (const [header, seconds] of [
    ['max-age=60', 60],
    ['no-store;x=1, max-age=60', 60],
    ['max-age=10, max-age=60', 60],
    ['max-age="60"', 'invalid'],
    ['max-age=60,', undefined],
    ['MAX-AGE=60', undefined],
    ['max-age=60 x', undefined],
    ['', undefined],
  ] as const)
    test(`${header || '(empty)'} → ${seconds ?? 'ignored'}`, () =>
      assert.equal(parseTargeted(header)?.seconds('max-age'), seconds))

  test('stands for Cache-Control and Expires where it is valid, and for nothing where it is not', () => {
    const other = { 'cache-control': 'max-age=10', expires: 'Thu, 01 Jan 2037 00:00:00 GMT' }
    assert.equal(freshness({ ...other, 'cdn-cache-control': 'max-age=60' }).lifetimeMs, 60_000)
    assert.equal(freshness({ ...other, 'cdn-cache-control': 'must-revalidate' }).lifetimeMs, 0)
    assert.equal(freshness({ ...other, 'cdn-cache-control': 'max-age=' }).lifetimeMs, 10_000)
    assert.equal(isStorable(GET, 200, { 'cache-control': 'no-store', 'cdn-cache-control': 'max-age=60' }), true)
  })
})

describe('lifetime', () => {
  const lastYear = 'Tue, 15 Nov 2022 00:00:00 GMT'
  const rows: readonly (readonly [HeaderMap, seconds: number, status?: number])[] = [
    [{ 'cache-control': 's-maxage=30, max-age=60' }, 30],
    [{ 'cache-control': 'max-age=60', expires: lastYear }, 60],
    [{ 'cache-control': "max-age='60'", expires: 'Thu, 01 Jan 2037 00:00:00 GMT' }, 0],
    [{ date: DATE, expires: 'Wed, 15 Nov 2023 00:01:00 GMT' }, 60],
    [{ date: 'wed, 15 NOV 2023 00:00:00 gmt', expires: 'WED, 15 nov 2023 00:01:00 GMT' }, 60],
    [{ expires: 'Wed, 15 Nov 2023 00:01:00 GMT' }, 60],
    [{ expires: '0' }, 0],
    [{ expires: lastYear }, 0],
    [{ date: DATE, 'last-modified': 'Tue, 14 Nov 2023 23:50:00 GMT' }, 60],
    [{ date: DATE, 'last-modified': lastYear }, 24 * 3600],
    [{ date: DATE, 'last-modified': 'Tue, 14 Nov 2023 23:50:00 GMT' }, 0, 403],
    [{ date: DATE, 'last-modified': 'Tue, 14 Nov 2023 23:50:00 GMT', 'cache-control': 'public' }, 60, 599],
    [{}, 0],
  ]
  for (const [headers, seconds, status = 200] of rows)
    test(`${status} ${JSON.stringify(headers)}: ${seconds} s`, () =>
      assert.equal(freshness(headers, status).lifetimeMs, seconds * 1000))
})

describe('age', () => {
  for (const [headers, requestedAt, seconds] of [
    [{}, NOW, 10],
    [{ age: '100' }, NOW, 110],
    [{ age: '100' }, NOW - 5000, 115],
    [{ date: 'Tue, 14 Nov 2023 23:59:00 GMT' }, NOW, 70],
    [{ date: 'Tue, 14 Nov 2023 23:59:00 GMT', age: '100' }, NOW, 110],
    [{ age: '100, 0' }, NOW, 110],
    [{ age: '0, 100' }, NOW, 10],
    [{ age: 'old' }, NOW, 10],
    [{ age: 'old, 100' }, NOW, 10],
    [{ age: '-1' }, NOW, 10],
    [{ age: '100.0' }, NOW, 10],
    [{ age: '99999999999' }, NOW, 2 ** 31 + 10],
  ] as const)
    test(`${JSON.stringify(headers)} is ${seconds} s after ten`, () =>
      assert.equal(ageMs(freshness(headers, 200, requestedAt), NOW + 10_000), seconds * 1000))
})

const GET = { method: 'GET', hasAuthorization: false, noStore: false }

describe('storing', () => {
  const rows: readonly (readonly [why: string, status: number, HeaderMap, boolean, Partial<typeof GET>?])[] = [
    ['explicit lifetime', 200, { 'cache-control': 'max-age=1' }, true],
    ['nothing said, but a status that may be guessed about', 200, {}, true],
    ['nothing said, other status', 500, {}, false],
    ['an error with a lifetime', 503, { 'cache-control': 'max-age=1' }, true],
    ['no-store', 200, { 'cache-control': 'no-store, max-age=1' }, false],
    ['private', 200, { 'cache-control': 'private, max-age=1' }, false],
    ['private fields', 200, { 'cache-control': 'private="x", max-age=1' }, true],
    ['must-understand and understood', 200, { 'cache-control': 'no-store, must-understand, max-age=1' }, true],
    ['must-understand and not', 599, { 'cache-control': 'must-understand, max-age=1' }, false],
    ['a part', 206, { 'cache-control': 'max-age=1' }, false],
    ['not modified', 304, { 'cache-control': 'max-age=1' }, false],
    ['Vary: *', 200, { 'cache-control': 'max-age=1', vary: 'a, *' }, false],
    ['a POST', 200, { 'cache-control': 'max-age=1' }, false, { method: 'POST' }],
    ['the client forbids it', 200, { 'cache-control': 'max-age=1' }, false, { noStore: true }],
    ['credentials', 200, { 'cache-control': 'max-age=1' }, false, { hasAuthorization: true }],
    ['credentials, and public', 200, { 'cache-control': 'public, max-age=1' }, true, { hasAuthorization: true }],
    ['credentials, and s-maxage', 200, { 'cache-control': 's-maxage=1' }, true, { hasAuthorization: true }],
  ]
  for (const [why, status, headers, isKept, request = {}] of rows)
    test(`${why}: ${isKept ? 'kept' : 'not kept'}`, () =>
      assert.equal(isStorable({ ...GET, ...request }, status, headers), isKept))

  test('keeps what passes, and not what a connection or a directive names', () => {
    const passed = passedNames(['X-Mine', 'Set-Cookie', 'Access-Control-Allow-Origin', 'Alt-Svc'])
    const headers = {
      'x-mine': '1',
      'x-hop': '1',
      connection: 'x-hop, content-language',
      'content-language': 'en',
      'cache-control': 'no-cache="etag"',
      etag: '"x"',
      'set-cookie': 'a=b',
      'access-control-allow-origin': '*',
      'alt-svc': 'x',
      server: 'x',
    }
    assert.deepEqual(keptHeaders(headers, passed), { 'x-mine': '1', 'cache-control': 'no-cache="etag"' })
  })

  test('a 304 updates what is said, not what describes the bytes; its age is its own', () => {
    const stored = { etag: '"a"', 'content-encoding': 'gzip', age: '5', x: '1', 'cache-control': 'max-age=1' }
    const fresh = { etag: '"b"', 'content-encoding': 'br', x: '2', 'cache-control': 'max-age=2' }
    assert.deepEqual(updatedHeaders(stored, fresh), {
      etag: '"a"',
      'content-encoding': 'gzip',
      x: '2',
      'cache-control': 'max-age=2',
    })
  })
})

describe('Vary', () => {
  const rows: readonly (readonly [name: string, a: string | undefined, b: string | undefined, isSame: boolean])[] = [
    ['foo', '1', '1', true],
    ['foo', '1', '2', false],
    ['foo', undefined, '1', false],
    ['foo', undefined, undefined, true],
    ['foo', '1, 2', '1,2', true],
    ['foo', '1, 2', '2, 1', false],
    ['foo', 'A', 'a', false],
    ['accept-language', 'en, de', 'DE, en', true],
    ['accept-language', 'en;q=1.0', 'en', true],
    ['accept-language', 'en;q=0.5', 'en', false],
  ]
  for (const [name, a, b, isSame] of rows)
    test(`${name}: ${a} ${isSame ? 'is' : 'is not'} ${b}`, () =>
      assert.equal(
        isSelected(
          selectingOf([name], () => a),
          () => b,
        ),
        isSame,
      ))

  test('names are read in any case, once, and in order', () => {
    assert.deepEqual(varyOf({ vary: 'B, a,, A' }), ['a', 'b'])
    assert.equal(varyOf({ vary: ', *' }), '*')
  })
})

describe('reuse', () => {
  const rows: readonly (readonly [response: string, request: string | undefined, ageS: number, use: string])[] = [
    ['max-age=60', undefined, 59, 'fresh'],
    ['max-age=60', undefined, 60, 'validate'],
    ['max-age=60, no-cache', undefined, 1, 'validate'],
    ['max-age=60, no-cache="x"', undefined, 1, 'fresh'],
    ['max-age=60', 'no-cache', 1, 'validate'],
    ['max-age=60', 'max-age=10', 5, 'fresh'],
    ['max-age=60', 'max-age=10', 11, 'validate'],
    ['max-age=60', 'max-age=0', 0, 'validate'],
    ['max-age=60', 'max-age=x', 1, 'validate'],
    ['max-age=60', 'min-fresh=30', 20, 'fresh'],
    ['max-age=60', 'min-fresh=30', 40, 'validate'],
    ['max-age=60', 'max-stale', 500, 'fresh'],
    ['max-age=60', 'max-stale=10', 65, 'fresh'],
    ['max-age=60', 'max-stale=10', 75, 'validate'],
    ['max-age=60, must-revalidate', 'max-stale', 65, 'validate'],
    ['max-age=60, stale-while-revalidate=30', undefined, 80, 'stale-while-revalidate'],
    ['max-age=60, stale-while-revalidate=30', undefined, 90, 'validate'],
    ['max-age=60, must-revalidate, stale-while-revalidate=30', undefined, 80, 'validate'],
  ]
  for (const [response, request, age, use] of rows)
    test(`${response} at ${age} s, asked ${request ?? 'plainly'}: ${use}`, () => {
      const held = freshness({ 'cache-control': response })
      assert.equal(useOf(held, requestDirectives(request, undefined), NOW + age * 1000), use)
    })

  test('Pragma: no-cache counts where there is no Cache-Control', () => {
    assert.equal(requestDirectives(undefined, 'no-cache').mustAsk, true)
    assert.equal(requestDirectives('max-age=5', 'no-cache').mustAsk, false)
  })

  for (const [response, age, stands] of [
    ['max-age=60', 3600, true],
    ['max-age=60', 100_000, false],
    ['max-age=60, stale-if-error=10', 65, true],
    ['max-age=60, stale-if-error=10', 75, false],
    ['max-age=60, must-revalidate', 61, false],
    ['s-maxage=60', 61, false],
    ['max-age=60, no-cache', 1, false],
  ] as const)
    test(`${response} ${stands ? 'stands in' : 'does not stand in'} for a failed upstream at ${age} s`, () =>
      assert.equal(mayStandIn(freshness({ 'cache-control': response }), NOW + age * 1000), stands))

  test('asks with every validator there is', () => {
    assert.deepEqual(validatorsOf({ etag: 'W/"x"', 'last-modified': DATE }), {
      'if-none-match': 'W/"x"',
      'if-modified-since': DATE,
    })
    assert.deepEqual(validatorsOf({}), {})
  })
})

test('an unsafe method makes its target and what it names invalid, on its own origin and unless it failed', () => {
  const target = new URL('https://up.example/a')
  const headers = { location: '/b', 'content-location': 'https://other.example/c' }
  const shown = (status: number): string[] => invalidatedBy(target, status, headers).map(({ href }) => href)
  assert.deepEqual(shown(201), ['https://up.example/a', 'https://up.example/b'])
  assert.deepEqual(shown(404), [])
})

test('Cache-Status says what was done', () => {
  assert.equal(cacheStatus({ tag: 'hit', ttlMs: 1500 }), 'cairn-edge; hit; ttl=1')
  assert.equal(
    cacheStatus({ tag: 'forwarded', why: 'stale', status: 304, stored: true, collapsed: true }),
    'cairn-edge; fwd=stale; fwd-status=304; stored; collapsed',
  )
  assert.equal(
    cacheStatus({ tag: 'stood-in', ttlMs: -2000, detail: 'offline' }),
    'cairn-edge; hit; ttl=-2; detail=offline',
  )
})
