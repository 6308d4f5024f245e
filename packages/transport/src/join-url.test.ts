import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isKind } from '@cairn/kernel'
import fc from 'fast-check'
import { joinUrl } from './transport.ts'

test('a path is joined below its base', () => {
  const base = new URL('https://tiles.example.org/v1/tiles')
  assert.equal(joinUrl(base, '3/4/5.png?x=1').href, 'https://tiles.example.org/v1/tiles/3/4/5.png?x=1')
  assert.equal(joinUrl(base, 'a/../b').href, 'https://tiles.example.org/v1/tiles/b')
  assert.equal(joinUrl(base, '//evil.example/x').href, 'https://tiles.example.org/v1/tiles///evil.example/x')
  assert.equal(joinUrl(new URL('https://h.example'), '@evil.example').href, 'https://h.example/@evil.example')
})

test('a path that leaves its base is refused', () => {
  const base = new URL('https://tiles.example.org/v1/tiles/')
  for (const path of [
    '..',
    '../x',
    'a/../../x',
    '%2e%2e/x',
    '.%2E/x',
    '..\\x',
    'a/..\\..\\x',
    '\t../x',
    'x#y',
    '..?a',
  ]) {
    assert.throws(
      () => joinUrl(base, path),
      (error) => isKind(error, 'Malformed'),
      path,
    )
  }
})

test('whatever the path, what is joined has the origin of the base and stays below it', () => {
  const base = new URL('https://tiles.example.org/v1/')
  const part = fc.constantFrom(
    '..',
    '.',
    '/',
    '\\',
    '%2e',
    '%2E',
    '%2f',
    '@',
    ':',
    '?',
    'a',
    ' ',
    '\n',
    '//',
    'evil.example',
    'https:',
  )
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.array(part).map((parts) => parts.join('')),
      ),
      (path) => {
        try {
          const joined = joinUrl(base, path)
          assert.equal(joined.origin, base.origin)
          assert.ok(joined.pathname.startsWith('/v1/'))
        } catch (error) {
          assert.ok(isKind(error, 'Malformed'))
        }
      },
    ),
    { numRuns: 5000 },
  )
})
