import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressOf } from '@cairn/wire'
import { findRelated, type Meaning, searchNames } from './facets-core.ts'

const [A, B, C] = ['a', 'b', 'c'].map((text) => addressOf(Buffer.from(text))) as [
  `b3:${string}`,
  `b3:${string}`,
  `b3:${string}`,
]
const MEANINGS: readonly Meaning[] = [
  ['site@1.0', A],
  ['site@1.1', B],
  ['my-site@1', C],
  ['other@1', A],
]

test('names that hold the text are found, the most alike first', () => {
  assert.deepEqual(
    searchNames(MEANINGS, 'SITE@1.0').map(({ name, score }) => [name, score]),
    [['site@1.0', 1]],
  )
  assert.deepEqual(
    searchNames(MEANINGS, 'site').map(({ name, score }) => [name, score]),
    [
      ['site@1.0', 0.75],
      ['site@1.1', 0.75],
      ['my-site@1', 0.5],
    ],
  )
  assert.deepEqual(searchNames(MEANINGS, 'nothing'), [])
})

test('a name is next to what it means, and that to its other versions', () => {
  assert.deepEqual(findRelated(MEANINGS, 'site@1.0', 1), [{ cid: A, edge: 'means', weight: 1 }])
  assert.deepEqual(
    findRelated(MEANINGS, 'site@1.0', 2).map(({ cid, edge }) => [cid, edge]),
    [
      [A, 'means'],
      [B, 'version'],
    ],
  )
  assert.deepEqual(findRelated(MEANINGS, A, 1), [{ cid: B, edge: 'version', weight: 1 }])
  assert.deepEqual(findRelated(MEANINGS, C, 3), [])
})
