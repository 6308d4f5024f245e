/** A token that was found genuine is not read again, and nothing else about it is remembered. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { VirtualClock } from '@cairn/kernel/testing'
import { type Caveat, createKeyring, deriveKeyring, mintToken, rotateKeyring } from '@cairn/wire'
import { type KeyringKey } from '@cairn/wire/testing'
import { capabilityAuthorizer } from './authorizer.ts'

const ROOT = createKeyring('k1', new Uint8Array(32).fill(7))
const REQUEST = { scope: 'storage:write', method: 'PUT', path: '/o' } as const

/** An authorizer whose keys and deny-list can be changed, and that counts how often a key is used. */
function gate() {
  const clock = new VirtualClock()
  const state = { ring: counted(deriveKeyring(ROOT, 'storage').keys), revoked: new Set<string>(), uses: 0 }
  function counted(keys: readonly KeyringKey[]) {
    const watched = keys.map((key) => ({
      ...key,
      get secret() {
        state.uses += 1
        return key.secret
      },
    }))
    return { holder: 'storage' as const, keys: watched }
  }
  const authorizer = capabilityAuthorizer(clock, () => ({
    keyring: state.ring,
    isRevoked: (tid) => state.revoked.has(tid),
  }))
  const ask = (bearer: string, over: Partial<typeof REQUEST | { method: string }> = {}): string => {
    const verdict = authorizer.authorize(`Bearer ${bearer}`, { ...REQUEST, ...over })
    return verdict.kind === 'denied' ? verdict.reason : 'granted'
  }
  const rotate = (overlapMs: number): void => {
    const fresh = { kid: 'k2', secret: new Uint8Array(32).fill(8) }
    const root = rotateKeyring(ROOT, fresh, { nowMs: clock.wall(), overlapMs })
    state.ring = counted(deriveKeyring(root, 'storage').keys)
  }
  return { clock, state, ask, rotate }
}

function mint(tid: number, ...caveats: readonly Caveat[]): string {
  const id = new Uint8Array(16)
  new DataView(id.buffer).setUint32(0, tid)
  return mintToken(ROOT, { tid: id, aud: 'storage', scopes: ['storage:write'], caveats })
}

test('a token is checked once, and one that differs in a letter is another', () => {
  const { state, ask } = gate()
  const token = mint(1)
  assert.deepEqual([ask(token), ask(token), state.uses], ['granted', 'granted', 1])
  const bent = `${token.slice(0, -2)}${token.at(-2) === 'A' ? 'B' : 'A'}${token.at(-1)}`
  for (const _ of [1, 2]) assert.match(ask(bent), /^token_(signature|malformed)$/)
  assert.equal(ask(token), 'granted')
})

test('a token taken back is refused at once, also if it was good a moment ago', () => {
  const { state, ask } = gate()
  const token = mint(1)
  assert.equal(ask(token), 'granted')
  state.revoked.add('00000001000000000000000000000000')
  assert.equal(ask(token), 'token_revoked')
})

test('time and request are held against the caveats each time', () => {
  const { clock, ask } = gate()
  const now = Math.floor(clock.wall() / 1000)
  const token = mint(1, { kind: 'exp', at: now + 10 }, { kind: 'method', methods: ['PUT'] })
  assert.equal(ask(token), 'granted')
  assert.equal(ask(token, { method: 'DELETE' }), 'caveat_method')
  clock.advance(80_000)
  assert.equal(ask(token), 'token_expired')
})

test('with another ring everything is checked again: a retiring key ends when it should', () => {
  const { clock, state, ask, rotate } = gate()
  const token = mint(1)
  assert.equal(ask(token), 'granted')
  rotate(60_000)
  assert.deepEqual([ask(token), state.uses], ['granted', 2])
  clock.advance(61_001)
  assert.equal(ask(token), 'token_retired_key')
  state.ring = { ...state.ring, keys: [] }
  assert.equal(ask(token), 'token_unknown_key')
})

test('only so many are remembered, and refused ones not at all', () => {
  const { state, ask } = gate()
  const tokens = Array.from({ length: 257 }, (_, at) => mint(at))
  for (const token of tokens) ask(token)
  assert.equal(state.uses, 257)
  ask(tokens[256] ?? '')
  assert.equal(state.uses, 257)
  ask(tokens[0] ?? '')
  assert.equal(state.uses, 258, 'the oldest had made room')
  for (let at = 0; at < 300; at += 1) ask(`${tokens[5] ?? ''}x`)
  ask(tokens[5] ?? '')
  assert.equal(state.uses, 258)
})
