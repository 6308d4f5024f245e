import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isUnder, normalisePath } from './caveats.ts'

test('a path has one spelling', () => {
  for (const [path, normal] of [
    ['/', '/'],
    ['/o/b3:00', '/o/b3:00'],
    ['/a%41%7e%2D', '/aA~-'],
    ['/a%20b%c3%a9', '/a%20b%C3%A9'],
    ['/a/', '/a/'],
    ["/!$&'()*+,;=:@", "/!$&'()*+,;=:@"],
    ['/.../..a/a..', '/.../..a/a..'],
  ] as const) {
    assert.equal(normalisePath(path), normal)
  }
})

test('an ambiguous path has none', () => {
  for (const path of [
    '',
    'o',
    '//',
    '/a//b',
    '/.',
    '/..',
    '/a/../b',
    '/a/./b',
    '/a%2fb',
    '/a%2Fb',
    '/a%5Cb',
    '/a/%2e%2e/b',
    '/a%00',
    '/a%',
    '/a%4',
    '/a%zz',
    '/a\\b',
    '/a b',
    '/é',
    '/a?b',
    '/a#b',
    '/a\n',
    'http://host/a',
    '*',
  ]) {
    assert.equal(normalisePath(path), undefined, path)
  }
})

/** Each escape as the character of its byte; the bytes need not be UTF-8. */
const unescaped = (path: string): string =>
  path.replace(/%(..)/g, (_escape, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)))

test('the normal form is a fixed point and stands for the same bytes', () => {
  const paths = fc.string({
    unit: fc.constantFrom(...'/a.%~: '.split(''), '%41', '%2f', '%c3%a9', '/..', '%7E'),
    maxLength: 12,
  })
  fc.assert(
    fc.property(paths, (path) => {
      const normal = normalisePath(`/${path}`)
      if (normal === undefined) return
      assert.equal(normalisePath(normal), normal)
      assert.equal(unescaped(normal), unescaped(`/${path}`))
    }),
    { numRuns: 3000 },
  )
})

test('a prefix covers whole segments', () => {
  assert.ok(isUnder('/o', '/o'))
  assert.ok(isUnder('/o/', '/o'))
  assert.ok(isUnder('/o/x', '/o'))
  assert.ok(isUnder('/anything', '/'))
  assert.ok(!isUnder('/ox', '/o'))
  assert.ok(!isUnder('/', '/o'))
  assert.ok(!isUnder('/O/x', '/o'))
})
