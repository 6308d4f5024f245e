import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressOf } from './address.ts'
import { entityTagOf, matchesStrongly, matchesWeakly, parseEntityTag, parseEntityTags } from './preconditions.ts'

const strong = (opaque: string) => ({ isWeak: false, opaque })
const weak = (opaque: string) => ({ isWeak: true, opaque })

test('a tag is quoted, weak only with a capital W', () => {
  assert.deepEqual(parseEntityTag('"a"'), strong('a'))
  assert.deepEqual(parseEntityTag('W/"a"'), weak('a'))
  assert.deepEqual(parseEntityTag('""'), strong(''))
  for (const text of ['a', '"a', 'a"', 'w/"a"', 'W/a', '"a b"', '"a"b"', '"a"\n', "'a'"]) {
    assert.equal(parseEntityTag(text), undefined, text)
  }
})

test('the tag of an object is its address', () => {
  const address = addressOf(new Uint8Array(0))
  assert.deepEqual(parseEntityTag(entityTagOf(address)), strong(address))
})

test('a list is split at commas outside quotes, and empty members are ignored', () => {
  assert.deepEqual(parseEntityTags('"a,b" ,W/"c"\t,, "d"'), [strong('a,b'), weak('c'), strong('d')])
  assert.equal(parseEntityTags(' * '), '*')
  for (const text of ['', ' ', ',', '*, "a"', '"a" "b"', '"a", b', '"a']) {
    assert.equal(parseEntityTags(text), undefined, text)
  }
})

test('strong comparison wants two strong tags, weak comparison only equal ones', () => {
  assert.ok(matchesStrongly(strong('a'), strong('a')))
  assert.ok(!matchesStrongly(strong('a'), weak('a')))
  assert.ok(!matchesStrongly(weak('a'), weak('a')))
  assert.ok(!matchesStrongly(strong('a'), strong('b')))
  assert.ok(matchesWeakly(weak('a'), strong('a')))
  assert.ok(!matchesWeakly(weak('a'), weak('b')))
})

test('a long hostile list is read in linear time', () => {
  assert.equal(parseEntityTags(`"a"${' '.repeat(300_000)}x`), undefined)
})
