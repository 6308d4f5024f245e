import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CairnError, ERRORS, isKind, toCairnError } from './errors.ts'

test('an error takes code and status from its row unless its thrower knows better', () => {
  const plain = new CairnError('Busy', 'full')
  assert.deepEqual([plain.code, plain.status, plain.retryAfterMs], ['busy', 429, undefined])
  const refined = new CairnError('StorageBusy', 'no space', {
    code: 'no_space',
    status: 507,
    retryAfterMs: 5_000,
    cause: 'ENOSPC',
  })
  assert.deepEqual(
    [refined.code, refined.status, refined.retryAfterMs, refined.cause],
    ['no_space', 507, 5_000, 'ENOSPC'],
  )
  assert.equal(isKind(refined, 'StorageBusy'), true)
  assert.equal(isKind(refined, 'Busy'), false)
})

test('what nobody threw on purpose is Internal, with its cause', () => {
  const cause = new RangeError('index')
  const wrapped = toCairnError(cause)
  assert.deepEqual([wrapped.kind, wrapped.message, wrapped.cause], ['Internal', 'index', cause])
  assert.equal(toCairnError(wrapped), wrapped)
  assert.equal(toCairnError('text').message, 'text')
})

test('what went wrong first counts, not that tidying up after it failed as well', () => {
  const first = new CairnError('StorageBusy', 'no space')
  const inner = new SuppressedError(new Error('close'), first)
  assert.equal(toCairnError(new SuppressedError(new Error('close'), inner)), first)
})

test('codes are distinct and of one form, and every row is a sentence', () => {
  const codes = Object.values(ERRORS).map(({ code }) => code)
  assert.equal(new Set(codes).size, codes.length)
  for (const [kind, { code, when, status }] of Object.entries(ERRORS)) {
    assert.match(code, /^[a-z]+(_[a-z]+)*$/)
    assert.match(when, /^[A-Z].*\.$/, kind)
    assert.ok(status >= 400 && status < 600)
  }
})

/** Code, status, who may try again, and the metric: clients, dashboards and alerts depend on each of these. */
const CONTRACT = {
  Busy: 'busy 429 later busy_rejections_total',
  Timeout: 'timeout 504 caller io_timeouts_total',
  Canceled: 'canceled 503 never tasks_canceled_total',
  Lagging: 'lagging 503 never bus_lagged_total',
  Paced: 'paced 429 later repair_wait_seconds',
  Overflow: 'overflow 503 later repair_skipped_total',
  BreakerOpen: 'breaker_open 503 later breaker_open_total',
  ChainMismatch: 'chain_mismatch 409 caller commit_cas_fail_total',
  StorageBusy: 'storage_busy 503 later storage_backoff_total',
  RejectPolicy: 'reject_policy 403 never edge_rejects_total',
  Backpressure: 'backpressure 503 later rejected_total',
  Integrity: 'integrity 502 never integrity_failures_total',
  NotFound: 'not_found 404 never ',
  Unauthorized: 'unauthorized 401 never ',
  Forbidden: 'forbidden 403 never ',
  Conflict: 'conflict 409 never ',
  TooLarge: 'too_large 413 never ',
  Malformed: 'malformed 400 never ',
  Internal: 'internal 500 never internal_errors_total',
}

test('what clients and dashboards depend on has not moved', () => {
  const rows = Object.entries(ERRORS).map(([kind, row]) => [
    kind,
    `${row.code} ${row.status} ${row.retry} ${row.metric}`,
  ])
  assert.deepEqual(Object.fromEntries(rows), CONTRACT)
})

test('an error without a cause has none, and says what it is', () => {
  const error = new CairnError('Busy', 'full')
  assert.equal('cause' in error, false)
  assert.equal(String(error), 'CairnError: full')
  assert.equal(isKind(Object.assign(new Error('full'), { kind: 'Busy' }), 'Busy'), false)
})
