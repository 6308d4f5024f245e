import assert from 'node:assert/strict'
import { test } from 'node:test'
import { objectIn, type ProblemResponse, problemError } from './problem.ts'

const PROBLEM = 'application/problem+json'

function refusal(status: number, problem?: unknown, more: Partial<ProblemResponse> = {}): ProblemResponse {
  const text = problem === undefined ? '' : JSON.stringify(problem)
  return { status, contentType: problem === undefined ? null : PROBLEM, retryAfter: undefined, text, ...more }
}

const kindOf = (status: number, code?: string): string =>
  problemError(refusal(status, code === undefined ? undefined : { code, detail: 'No.' }), 'storage').kind

test('a status alone says which error it was', () => {
  const kinds = {
    400: 'Malformed',
    401: 'Unauthorized',
    403: 'Forbidden',
    404: 'NotFound',
    408: 'Timeout',
    409: 'Conflict',
    410: 'NotFound',
    412: 'Conflict',
    413: 'TooLarge',
    418: 'Malformed',
    423: 'Conflict',
    429: 'Busy',
    431: 'TooLarge',
    499: 'Malformed',
    500: 'Internal',
    501: 'Internal',
    502: 'Timeout',
    503: 'Backpressure',
    504: 'Timeout',
    507: 'StorageBusy',
  }
  const statuses = Object.keys(kinds).map(Number)
  assert.deepEqual(Object.fromEntries(statuses.map((status) => [status, kindOf(status)])), kinds)
})

test('a code of ours says it better, in either spelling, if the status is its own', () => {
  const cases: [number, string, string][] = [
    [502, 'integrity', 'Integrity'],
    [502, 'Integrity', 'Integrity'],
    [500, 'integrity', 'Internal'],
    [503, 'storage_busy', 'StorageBusy'],
    [409, 'ChainMismatch', 'ChainMismatch'],
    [409, 'referenced', 'Conflict'],
    [500, 'LogDamaged', 'Integrity'],
    [503, 'canceled', 'Backpressure'],
  ]
  for (const [status, code, kind] of cases) assert.equal(kindOf(status, code), kind, `${status} ${code}`)
})

test('code, status and sentence are the other side’s, and the cause has every field', () => {
  const problem = { code: 'referenced', detail: 'It is in use.', by: ['site@1'] }
  for (const contentType of [PROBLEM, `${PROBLEM}; charset=utf-8`, ' Application/Problem+JSON ;x']) {
    const error = problemError(refusal(409, problem, { contentType }), 'storage')
    assert.deepEqual([error.code, error.status, error.message], ['referenced', 409, 'It is in use.'])
    assert.deepEqual(error.cause, problem)
    assert.equal(error.retryAfterMs, undefined)
  }
})

test('an answer that is no problem, or half of one, says only its status', () => {
  const halves = [{ code: 'x' }, { detail: 'x' }, { code: 1, detail: 'x' }, { code: 'x', detail: 1 }, [], 7, null]
  const answers = [
    refusal(409),
    refusal(409, { code: 'x', detail: 'y', retry_after: 3 }, { contentType: 'application/json' }),
    refusal(409, { code: 'x', detail: 'y' }, { contentType: undefined }),
    refusal(409, undefined, { contentType: PROBLEM, text: '{' }),
    ...halves.map((half) => refusal(409, half)),
    refusal(409, { code: 'x', retry_after: 3 }),
  ]
  for (const answer of answers) {
    const error = problemError(answer, 'storage')
    assert.equal(error.message, 'storage answered 409 without saying why.', answer.text)
    assert.deepEqual([error.code, error.cause, error.retryAfterMs], ['http_409', undefined, undefined])
  }
})

test('the time to wait is the header’s, or else the body’s, in whole seconds', () => {
  const wait = (retryAfter: string | null | undefined, seconds?: unknown): number | undefined =>
    problemError(refusal(503, { code: 'x', detail: 'y', retry_after: seconds }, { retryAfter }), 'storage').retryAfterMs
  assert.deepEqual([wait('7'), wait('0'), wait('7', 3), wait(null, 3), wait(undefined, 0)], [7_000, 0, 7_000, 3_000, 0])
  assert.deepEqual(
    [wait('soon', 3), wait('1234567'), wait('1.5'), wait(undefined, -1)],
    [3_000, undefined, undefined, undefined],
  )
  assert.deepEqual([wait(undefined, '3'), wait('Sun, 06 Nov 1994 08:49:37 GMT')], [undefined, undefined])
})

test('only an object is an object', () => {
  assert.deepEqual(objectIn('{"a":1}'), { a: 1 })
  for (const text of ['null', '7', '"a"', 'true', '{', '']) assert.equal(objectIn(text), undefined, text)
})
