import assert from 'node:assert/strict'
import { test } from 'node:test'
import { wrapped } from './wrap.ts'

test('lines are broken between words, and what follows is indented', () => {
  const text = 'The quick brown fox jumps over the lazy dog.\nShort.'
  assert.deepEqual(wrapped(text, 24, '  ').split('\n'), [
    'The quick brown fox',
    '  jumps over the lazy',
    '  dog.',
    'Short.',
  ])
})

test('without a known width nothing is broken', () => {
  assert.equal(wrapped('a '.repeat(100), undefined), 'a '.repeat(100))
})

test('a word longer than a line stays whole', () => {
  const address = `b3:${'ab'.repeat(32)}`
  const lines = wrapped(`Nobody is known to hold ${address} any more, it seems.`, 40, '  ').split('\n')
  assert.ok(lines.includes(`  ${address}`), lines.join('\n'))
  assert.deepEqual(lines.join(' ').replaceAll(/ +/g, ' '), `Nobody is known to hold ${address} any more, it seems.`)
})
