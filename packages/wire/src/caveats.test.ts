import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NOW, NOW_MS, request } from '../test/tokens.ts'
import { denialOf, type RawCaveat, readCaveat } from './caveats.ts'

test('a caveat holds up to its last value and not beyond', () => {
  assert.equal(denialOf({ kind: 'bytes_le', bytes: 1000 }, request), undefined)
  assert.equal(denialOf({ kind: 'bytes_le', bytes: 999 }, request), 'caveat_bytes')
  const { bodyBytes: _none, ...withoutBody } = request
  assert.equal(denialOf({ kind: 'bytes_le', bytes: 0 }, withoutBody), undefined)
  const at = (kind: 'exp' | 'nbf', nowMs: number) => denialOf({ kind, at: NOW }, { ...request, nowMs })
  const skewMs = 60_000
  assert.deepEqual([at('exp', NOW_MS + skewMs - 1), at('exp', NOW_MS + skewMs)], [undefined, 'token_expired'])
  assert.deepEqual([at('nbf', NOW_MS - skewMs), at('nbf', NOW_MS - skewMs - 1)], [undefined, 'token_not_yet_valid'])
})

test('a value of another type, or out of order, or said twice, makes no sense', () => {
  const wrong: RawCaveat[] = [
    ['exp', '1'],
    ['exp', -1],
    ['exp', 1.5],
    ['bytes_le', new Uint8Array(1)],
    ['bytes_le', 2 ** 53],
    ['method', 'GET'],
    ['method', []],
    ['method', ['GET', 1]],
    ['method', ['PUT', 'GET']],
    ['method', ['GET', 'GET']],
    ['method', ['get']],
    ['path_prefix', 1],
    ['path_prefix', '/a/'],
    ['path_prefix', '/a/../b'],
    ['address', new Uint8Array(31)],
    ['address', 'b3:'],
    ['ip_cidr', 1],
    ['ip_cidr', '10.0.0.0/99'],
    ['scope_in', ['no such scope']],
  ]
  for (const caveat of wrong) assert.equal(readCaveat(caveat), 'caveat_malformed', JSON.stringify(caveat))
  assert.equal(readCaveat(['moon_phase', 1]), 'caveat_unknown')
  assert.deepEqual(readCaveat(['method', ['GET', 'PUT']]), { kind: 'method', methods: ['GET', 'PUT'] })
  assert.deepEqual(readCaveat(['path_prefix', '/']), { kind: 'path_prefix', prefix: '/' })
  assert.deepEqual(readCaveat(['bytes_le', 0]), { kind: 'bytes_le', bytes: 0 })
})
