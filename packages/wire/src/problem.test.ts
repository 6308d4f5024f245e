import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CairnError, ERRORS, type ErrorKind, toCairnError } from '@cairn/kernel'
import { PROBLEM_MEDIA_TYPE, problemError, problemOf } from './problem.ts'

const CORRELATION_ID = '01JGFJJZ00000000000000000A'

test('a problem carries the members of RFC 9457 and ours', () => {
  const error = new CairnError('Conflict', 'The object is held by the registry.', { code: 'referenced' })
  assert.deepEqual(problemOf(error, CORRELATION_ID), {
    type: 'urn:cairn:problem:referenced',
    title: ERRORS.Conflict.when,
    status: 409,
    detail: 'The object is held by the registry.',
    code: 'referenced',
    corr_id: CORRELATION_ID,
  })
})

test('retry_after is in whole seconds, never zero', () => {
  for (const [retryAfterMs, seconds] of [
    [0, 1],
    [1, 1],
    [1000, 1],
    [1001, 2],
    [15_000, 15],
  ] as const) {
    assert.equal(problemOf(new CairnError('Busy', 'Full.', { retryAfterMs }), CORRELATION_ID).retry_after, seconds)
  }
})

test('a defect of ours is named, but what it says stays in the log', () => {
  const problem = problemOf(toCairnError(new Error('password=hunter2 at /var/lib')), CORRELATION_ID)
  assert.equal(problem.status, 500)
  assert.equal(problem.code, 'internal')
  assert.doesNotMatch(JSON.stringify(problem), /hunter2|var/)
})

test('every kind of error has a problem', () => {
  for (const kind of Object.keys(ERRORS) as ErrorKind[]) {
    const problem = problemOf(new CairnError(kind, 'Detail.'), CORRELATION_ID)
    assert.equal(problem.status, ERRORS[kind].status)
    assert.equal(problem.type, `urn:cairn:problem:${ERRORS[kind].code}`)
  }
})

test('what a service that stops has canceled is worth asking for again', () => {
  const text = JSON.stringify(
    problemOf(new CairnError('Canceled', 'Ask again.', { retryAfterMs: 1000 }), CORRELATION_ID),
  )
  const answer = { status: 503, contentType: PROBLEM_MEDIA_TYPE, retryAfter: '1', text }
  const { kind, code, retryAfterMs } = problemError(answer, 'The service')
  assert.deepEqual([ERRORS[kind].retry, code, retryAfterMs], ['later', 'canceled', 1000])
})
