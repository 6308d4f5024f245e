import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type ConditionalRequest, evaluatePreconditions, type PreconditionOutcome } from './preconditions.ts'

const NOW_MS = Date.UTC(2026, 0, 1)
const OLD = 'Sun, 06 Nov 1994 08:49:37 GMT'
const NEW = 'Tue, 07 Nov 2000 08:49:37 GMT'
const LAST_MODIFIED = Date.UTC(1994, 10, 6, 8, 49, 37) / 1000
const current = { etag: '"a"', lastModified: LAST_MODIFIED }

const judge = (request: Partial<ConditionalRequest>, state: typeof current | undefined | object = current) =>
  evaluatePreconditions({ method: 'GET', ...request }, state, NOW_MS)

describe('each precondition alone', () => {
  const cases: readonly [Partial<ConditionalRequest>, PreconditionOutcome, string][] = [
    [{}, 'proceed', 'no condition'],
    [{ ifMatch: '"a"' }, 'proceed', 'the tag is listed'],
    [{ ifMatch: '"x", "a"' }, 'proceed', 'the tag is listed second'],
    [{ ifMatch: '*' }, 'proceed', 'it exists'],
    [{ ifMatch: '"b"' }, 'precondition-failed', 'another tag'],
    [{ ifMatch: 'W/"a"' }, 'precondition-failed', 'If-Match compares strongly'],
    [{ ifMatch: 'a' }, 'precondition-failed', 'what cannot be read matches nothing'],
    [{ ifUnmodifiedSince: OLD }, 'proceed', 'not changed since'],
    [{ ifUnmodifiedSince: 'Sun, 06 Nov 1994 08:49:36 GMT' }, 'precondition-failed', 'changed a second later'],
    [{ ifUnmodifiedSince: 'yesterday' }, 'proceed', 'a bad date is ignored'],
    [{ ifNoneMatch: '"a"' }, 'not-modified', 'the client has it'],
    [{ ifNoneMatch: 'W/"a"' }, 'not-modified', 'If-None-Match compares weakly'],
    [{ ifNoneMatch: '"b"' }, 'proceed', 'the client has another'],
    [{ ifNoneMatch: '"b", "a"' }, 'not-modified', 'the client has it among others'],
    [{ ifNoneMatch: '*' }, 'not-modified', 'it exists'],
    [{ ifNoneMatch: 'a' }, 'proceed', 'what cannot be read matches nothing'],
    [{ ifModifiedSince: OLD }, 'not-modified', 'not changed since'],
    [{ ifModifiedSince: 'Sun, 06 Nov 1994 08:49:36 GMT' }, 'proceed', 'changed a second later'],
    [{ ifModifiedSince: 'yesterday' }, 'proceed', 'a bad date is ignored'],
    [{ ifModifiedSince: 'Sunday, 06-Nov-94 08:49:37 GMT' }, 'not-modified', 'obsolete form'],
  ]
  for (const [request, outcome, why] of cases) {
    test(`${JSON.stringify(request)} → ${outcome}: ${why}`, () => assert.equal(judge(request), outcome))
  }
})

describe('order of RFC 9110 §13.2.2', () => {
  test('If-Match makes If-Unmodified-Since ignored', () => {
    assert.equal(judge({ ifMatch: '"a"', ifUnmodifiedSince: 'Sat, 05 Nov 1994 08:49:37 GMT' }), 'proceed')
    assert.equal(judge({ ifMatch: '"b"', ifUnmodifiedSince: NEW }), 'precondition-failed')
  })

  test('If-None-Match makes If-Modified-Since ignored', () => {
    assert.equal(judge({ ifNoneMatch: '"b"', ifModifiedSince: NEW }), 'proceed')
    assert.equal(judge({ ifNoneMatch: '"a"', ifModifiedSince: 'Sat, 05 Nov 1994 08:49:37 GMT' }), 'not-modified')
  })

  test('a failed If-Match is answered before a matching If-None-Match', () => {
    assert.equal(judge({ ifMatch: '"b"', ifNoneMatch: '"a"' }), 'precondition-failed')
    assert.equal(judge({ ifMatch: '"a"', ifNoneMatch: '"a"' }), 'not-modified')
  })
})

describe('writes', () => {
  test('answer 412 where a read would answer 304, and know no If-Modified-Since', () => {
    assert.equal(judge({ method: 'PUT', ifNoneMatch: '*' }), 'precondition-failed')
    assert.equal(judge({ method: 'PUT', ifNoneMatch: '"a"' }), 'precondition-failed')
    assert.equal(judge({ method: 'PUT', ifModifiedSince: NEW }), 'proceed')
    assert.equal(judge({ method: 'HEAD', ifNoneMatch: '"a"' }), 'not-modified')
  })

  test('to what does not exist: If-Match fails, If-None-Match: * holds', () => {
    const create = (request: Partial<ConditionalRequest>) =>
      evaluatePreconditions({ method: 'PUT', ...request }, undefined, NOW_MS)
    assert.equal(create({ ifNoneMatch: '*' }), 'proceed')
    assert.equal(create({ ifMatch: '*' }), 'precondition-failed')
    assert.equal(create({ ifMatch: '"a"' }), 'precondition-failed')
    assert.equal(create({ ifUnmodifiedSince: OLD }), 'proceed')
  })

  test('with a guard that cannot be read are not performed', () => {
    assert.equal(judge({ method: 'PUT', ifNoneMatch: 'garbage' }), 'precondition-failed')
    assert.equal(judge({ method: 'DELETE', ifMatch: 'garbage' }), 'precondition-failed')
  })
})

test('without a modification date both date conditions are ignored', () => {
  assert.equal(judge({ ifUnmodifiedSince: OLD }, { etag: '"a"' }), 'proceed')
  assert.equal(judge({ ifModifiedSince: NEW }, { etag: '"a"' }), 'proceed')
})

test('what has no tag matches none', () => {
  assert.equal(judge({ ifNoneMatch: '"a"' }, {}), 'proceed')
  assert.equal(judge({ ifMatch: '"a"' }, {}), 'precondition-failed')
})
