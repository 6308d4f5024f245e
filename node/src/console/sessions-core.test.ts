import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  CODE_MS,
  CODES_MAX,
  countWrongTry,
  createSessionTable,
  IDLE_MS,
  keepCode,
  listSessions,
  mayTry,
  openSession,
  redeem,
  revokeSession,
  SESSIONS_MAX,
  type Session,
  TRIES_MAX,
  TRIES_MS,
  useSession,
} from './sessions-core.ts'

function session(id: string, sinceMs: number): Session {
  return { id, cookieHash: `c${id}`, proofHash: `p${id}`, bearer: `b${id}`, by: 'code', sinceMs, usedMs: sinceMs }
}

test('a code signs in once, and only in time', () => {
  const table = createSessionTable()
  keepCode(table, 'a', 0)
  keepCode(table, 'b', 0)
  assert.equal(redeem(table, 'x', 1), 'unknown')
  assert.equal(redeem(table, 'a', 1), 'redeemed')
  assert.equal(redeem(table, 'a', 2), 'used')
  assert.equal(redeem(table, 'b', CODE_MS), 'expired')
  assert.equal(redeem(table, 'b', CODE_MS), 'used')
})

test('a session is opened by both halves and by nothing else', () => {
  const table = createSessionTable()
  openSession(table, session('1', 0))
  openSession(table, session('2', 0))
  assert.equal(useSession(table, 'c1', 'p1', 1)?.bearer, 'b1')
  assert.equal(useSession(table, 'c1', 'p2', 1), undefined)
  assert.equal(useSession(table, 'c2', 'p1', 1), undefined)
  assert.equal(revokeSession(table, '1'), true)
  assert.equal(revokeSession(table, '1'), false)
  assert.equal(useSession(table, 'c1', 'p1', 2), undefined)
})

test('a session that is used stays, one that is idle ends', () => {
  const table = createSessionTable()
  openSession(table, session('1', 0))
  openSession(table, session('2', 0))
  assert.ok(useSession(table, 'c1', 'p1', IDLE_MS - 1))
  assert.equal(useSession(table, 'c2', 'p2', IDLE_MS), undefined)
  assert.deepEqual(
    listSessions(table, IDLE_MS).map(({ id }) => id),
    ['1'],
  )
})

test('whatever happens, codes and sessions are bounded, and the newest are kept', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.constantFrom('code', 'session'), fc.nat({ max: 1000 })), { maxLength: 300 }),
      (steps) => {
        const table = createSessionTable()
        let nowMs = 0
        for (const [at, [what, pauseMs]] of steps.entries()) {
          nowMs += pauseMs
          if (what === 'code') keepCode(table, `h${at}`, nowMs)
          else openSession(table, session(`${at}`, nowMs))
          assert.ok(table.codes.size <= CODES_MAX && table.sessions.size <= SESSIONS_MAX)
          if (what === 'session') assert.ok(useSession(table, `c${at}`, `p${at}`, nowMs))
          else assert.ok(table.codes.has(`h${at}`))
        }
      },
    ),
  )
})

test('wrong codes are judged a few at a time', () => {
  const table = createSessionTable()
  for (let at = 0; at < TRIES_MAX; at++) {
    assert.ok(mayTry(table, at))
    countWrongTry(table, at)
  }
  assert.equal(mayTry(table, TRIES_MAX), false)
  assert.ok(mayTry(table, TRIES_MS))
  countWrongTry(table, TRIES_MS)
  assert.ok(mayTry(table, TRIES_MS))
})
