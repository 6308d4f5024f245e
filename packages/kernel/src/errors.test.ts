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

test('codes are distinct and of one form, and every row is a sentence', () => {
  const codes = Object.values(ERRORS).map(({ code }) => code)
  assert.equal(new Set(codes).size, codes.length)
  for (const [kind, { code, when, status }] of Object.entries(ERRORS)) {
    assert.match(code, /^[a-z]+(_[a-z]+)*$/)
    assert.match(when, /^[A-Z].*\.$/, kind)
    assert.ok(status >= 400 && status < 600)
  }
})
