import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { NOW, ROOT, STORAGE, tid } from '../test/tokens.ts'
import { keyedBlake3 } from './blake3/hash.ts'
import { engine as portable } from './blake3/portable.ts'
import { fromBase64url } from './bytes.ts'
import type { Caveat } from './caveats.ts'
import { decodeCbor, encodeCbor } from './cbor.ts'
import type { Scope } from './scopes.ts'
import { attenuateToken, isSignedBy, MAX_CAVEATS, mintToken, readToken } from './token.ts'

const mint = (caveats: readonly Caveat[] = []): string =>
  mintToken(ROOT, { tid: tid(9), aud: 'storage', scopes: ['storage:write', 'storage:delete'], caveats })

describe('the format', () => {
  test('is the documented chain of keyed hashes over deterministic CBOR', () => {
    const token = mint([{ kind: 'exp', at: NOW }])
    const key = portable.deriveKey('cairn-cap/v1 key storage', new Uint8Array(32).fill(7))
    const head = [1, tid(9), 'k1', 'storage', ['storage:delete', 'storage:write']]
    const keyed = (secret: Uint8Array, label: string, value: unknown): Uint8Array =>
      portable.keyedHash(secret, Uint8Array.from(Buffer.concat([Buffer.from(label), encodeCbor(value)])))
    const first = keyed(key, 'cairn-cap/v1 init', head)
    const second = keyed(first, 'cairn-cap/v1 caveat', ['exp', NOW])
    assert.deepEqual(decodeCbor(fromBase64url(token)), [...head, [['exp', NOW]], second])
  })

  test('reads back its claims without verifying them', () => {
    const { claims } = readToken(mint([{ kind: 'path_prefix', prefix: '/o' }]))
    assert.deepEqual(claims, {
      tid: '09'.repeat(16),
      kid: 'k1',
      aud: 'storage',
      scopes: ['storage:delete', 'storage:write'],
      caveats: [['path_prefix', '/o']],
    })
  })

  test('repeated scopes and methods are written once, in order', () => {
    const token = mintToken(ROOT, {
      tid: tid(1),
      aud: 'storage',
      scopes: ['storage:write', 'storage:admin', 'storage:write'],
      caveats: [{ kind: 'method', methods: ['PUT', 'GET', 'PUT'] }],
    })
    assert.deepEqual(readToken(token).claims.scopes, ['storage:admin', 'storage:write'])
    assert.deepEqual(readToken(token).claims.caveats, [['method', ['GET', 'PUT']]])
  })

  test('every field is held to its shape', () => {
    const fields = decodeCbor(fromBase64url(mint())) as unknown[]
    const broken: readonly [number, unknown][] = [
      [0, 2],
      [1, tid(1).subarray(1)],
      [2, 'K1'],
      [2, ''],
      [3, 'moon'],
      [4, []],
      [4, ['storage:write', 'storage:delete']],
      [4, ['storage:fly']],
      [4, ['*', 'storage:write']],
      [5, {}],
      [5, [['exp']]],
      [5, [[1, 1]]],
      [5, Array.from({ length: MAX_CAVEATS + 1 }, () => ['exp', 1])],
      [6, new Uint8Array(31)],
    ]
    for (const [index, value] of broken) {
      const text = Buffer.from(encodeCbor(fields.with(index, value))).toString('base64url')
      assert.throws(
        () => readToken(text),
        { kind: 'Malformed', message: /not a capability token/ },
        JSON.stringify(value),
      )
    }
    const short = Buffer.from(encodeCbor(fields.slice(0, 6))).toString('base64url')
    assert.throws(() => readToken(short), /seven fields/)
  })
})

describe('minting and narrowing', () => {
  test('narrowing at minting and later give the same token', () => {
    const caveats: Caveat[] = [
      { kind: 'exp', at: NOW },
      { kind: 'bytes_le', bytes: 1 },
    ]
    assert.equal(attenuateToken(attenuateToken(mint(), caveats.slice(0, 1)), caveats.slice(1)), mint(caveats))
  })

  test('no caveat can be taken away, moved or weakened', () => {
    const key = STORAGE.keys[0]?.secret ?? new Uint8Array()
    const caveats: Caveat[] = [
      { kind: 'exp', at: NOW },
      { kind: 'bytes_le', bytes: 1 },
    ]
    const token = readToken(mint(caveats))
    assert.ok(isSignedBy(key, token))
    const kept = token.claims.caveats
    for (const changed of [kept.slice(1), kept.slice(0, 1), [], [...kept].reverse(), [['exp', NOW + 1], kept[1]]]) {
      assert.ok(!isSignedBy(key, { ...token, claims: { ...token.claims, caveats: changed as typeof kept } }))
    }
  })

  test('scopes outside the table, no scopes, and a short id are refused', () => {
    const base = { tid: tid(1), aud: 'storage' as const }
    assert.throws(() => mintToken(ROOT, { ...base, scopes: [] }), /allows nothing/)
    assert.throws(() => mintToken(ROOT, { ...base, scopes: ['*' as Scope] }), /not in the table/)
    assert.throws(() => mintToken(ROOT, { ...base, tid: new Uint8Array(8), scopes: ['storage:write'] }), /16 bytes/)
  })

  test('a caveat that no verifier would accept is refused where it is written', () => {
    const bad: readonly Caveat[] = [
      { kind: 'exp', at: -1 },
      { kind: 'nbf', at: 1.5 },
      { kind: 'method', methods: [] },
      { kind: 'method', methods: ['get'] },
      { kind: 'path_prefix', prefix: 'o' },
      { kind: 'path_prefix', prefix: '/o/' },
      { kind: 'path_prefix', prefix: '/a/%41' },
      { kind: 'scope_in', scopes: ['*' as Scope] },
      { kind: 'bytes_le', bytes: Number.POSITIVE_INFINITY },
      { kind: 'ip_cidr', block: '10.0.0.0' },
      { kind: 'ip_cidr', block: '::ffff:10.0.0.0/104' },
    ]
    for (const caveat of bad) assert.throws(() => mint([caveat]), { kind: 'Malformed' }, JSON.stringify(caveat))
  })

  test('a token ends at 64 caveats and at 4096 characters', () => {
    const many = Array.from({ length: MAX_CAVEATS }, (): Caveat => ({ kind: 'exp', at: NOW }))
    const full = mint(many)
    assert.equal(readToken(full).claims.caveats.length, 64)
    assert.throws(() => attenuateToken(full, many.slice(0, 1)), { kind: 'TooLarge', message: /64 caveats/ })
    const long = { kind: 'path_prefix', prefix: `/${'a'.repeat(1500)}` } as const
    assert.throws(() => mint([long, long]), { kind: 'TooLarge', message: /4096 characters/ })
  })
})

test('macs are compared over their whole length', () => {
  const token = readToken(mint())
  const key = STORAGE.keys[0]?.secret ?? new Uint8Array()
  for (let at = 0; at < 32; at++) {
    const mac = token.mac.slice()
    mac[at] = (mac[at] ?? 0) ^ 0x80
    assert.ok(!isSignedBy(key, { ...token, mac }))
  }
  assert.ok(!isSignedBy(keyedBlake3(key, new Uint8Array()), token))
})
