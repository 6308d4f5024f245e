import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ANY_SCOPE, AUDIENCES, isAudience, isScope, SCOPES } from './scopes.ts'

test('the table of scopes is closed: exactly these', () => {
  const families = Map.groupBy(Object.keys(SCOPES), (scope) => scope.split(':')[0])
  const verbs = [...families].map(
    ([service, scopes]) => `${service}:${scopes.map((scope) => scope.split(':')[1]).join('|')}`,
  )
  assert.deepEqual(verbs, [
    'storage:write|delete|hold|peer|admin',
    'index:read|admin|pin|announce',
    'registry:propose|approve|commit|anchor|admin',
    'edge:admin',
    'interop:put|admin',
    'mailbox:send|recv|admin',
    'audit:read',
    'events:read',
    'node:admin',
  ])
})

test('what is not in the tables is neither scope nor audience', () => {
  for (const word of [ANY_SCOPE, 'storage', 'storage:', 'storage:read', 'toString', '__proto__', '', 1, undefined]) {
    assert.ok(!isScope(word), String(word))
  }
  assert.ok(isScope('storage:write'))
  assert.ok(AUDIENCES.every(isAudience))
  for (const word of ['root', 'console', '', undefined]) assert.ok(!isAudience(word), String(word))
})
