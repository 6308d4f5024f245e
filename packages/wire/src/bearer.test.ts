import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { NOW, NOW_MS, ROOT, request, STORAGE, tid } from '../test/tokens.ts'
import { type BearerDecision, bearerOf, joinTokens, readBundle, verifyBearer } from './bearer.ts'
import { keyedBlake3 } from './blake3/hash.ts'
import { fromBase64url, toBase64url } from './bytes.ts'
import { type CapabilityRequest, type Caveat, DENY_REASONS, type DenyReason } from './caveats.ts'
import { decodeCbor, encodeCbor } from './cbor.ts'
import { deriveKeyring, type Keyring, rotateKeyring } from './keyring.ts'
import { AUDIENCES, type Audience } from './scopes.ts'
import { attenuateToken, mintAdminToken, mintToken, readToken } from './token.ts'

const mint = (caveats: readonly Caveat[] = [], aud: Audience = 'storage'): string =>
  mintToken(ROOT, { tid: tid(1), aud, scopes: ['storage:write'], caveats })

interface Case {
  readonly bearer?: string | undefined
  readonly keyring?: Keyring
  readonly revoked?: readonly string[]
  readonly changes?: Partial<CapabilityRequest>
}

function verify({ bearer, keyring = STORAGE, revoked = [], changes = {} }: Case): BearerDecision {
  const verifier = { keyring, isRevoked: (id: string) => revoked.includes(id) }
  return verifyBearer(verifier, bearer, { ...request, ...changes })
}

/** A token of any content, signed as it should be: what an attacker with a token, or a newer node, could make. */
function forgeCaveat(token: string, caveat: readonly [string, unknown]): string {
  const fields = decodeCbor(fromBase64url(token)) as unknown[]
  const mac = keyedBlake3(
    fields[6] as Uint8Array,
    Buffer.concat([Buffer.from('cairn-cap/v1 caveat'), encodeCbor([...caveat])]),
  )
  return toBase64url(encodeCbor([...fields.slice(0, 5), [...(fields[5] as unknown[]), caveat], mac]))
}

const good = mint()
const rotated = rotateKeyring(STORAGE, { kid: 'k2', secret: new Uint8Array(32) }, { nowMs: NOW_MS, overlapMs: 60_000 })
const { address: _address, ...withoutAddress } = request
const { ip: _ip, ...withoutIp } = request

const DENIALS: readonly [DenyReason, string, Case | (() => BearerDecision)][] = [
  ['token_missing', 'no header', { bearer: undefined }],
  ['token_missing', 'an empty bearer', { bearer: '' }],
  ['token_too_large', 'a token of more than 4096 characters', { bearer: 'A'.repeat(4097) }],
  ['token_too_large', 'nine tokens', { bearer: Array(9).fill(good).join('.') }],
  ['token_too_large', 'more than 12 KiB', { bearer: [4095, 4095, 4095, 1].map((size) => 'A'.repeat(size)).join('.') }],
  ['token_malformed', 'exactly 12 KiB', { bearer: [4095, 4095, 4096].map((size) => 'A'.repeat(size)).join('.') }],
  ['token_malformed', 'eight tokens for one service', { bearer: Array(8).fill(good).join('.') }],
  ['token_malformed', 'not base64url', { bearer: 'a+b/' }],
  ['token_malformed', 'an empty member', { bearer: `${good}.` }],
  ['token_malformed', 'a damaged token of another service', { bearer: `${good}.AAAA` }],
  ['token_malformed', 'two tokens for one service', { bearer: `${good}.${good}` }],
  ['token_audience', 'a token for another service', { bearer: mint([], 'index') }],
  ['token_audience', 'a verifier that holds only roots', { bearer: good, keyring: ROOT }],
  ['token_unknown_key', 'a key this ring does not have', { bearer: good, keyring: { ...STORAGE, keys: [] } }],
  [
    'token_retired_key',
    'a key past its overlap',
    { bearer: good, keyring: rotated, changes: { nowMs: NOW_MS + 60_001 } },
  ],
  [
    'token_signature',
    'the key of another service',
    { bearer: good, keyring: { ...deriveKeyring(ROOT, 'index'), holder: 'storage' } },
  ],
  ['token_revoked', 'a token on the deny-list', { bearer: good, revoked: [readToken(good).claims.tid] }],
  ['token_expired', 'exp passed by more than the skew', { bearer: mint([{ kind: 'exp', at: NOW - 60 }]) }],
  ['token_not_yet_valid', 'nbf ahead by more than the skew', { bearer: mint([{ kind: 'nbf', at: NOW + 61 }]) }],
  ['caveat_unknown', 'a caveat from the future', { bearer: forgeCaveat(good, ['moon_phase', 'full']) }],
  ['caveat_malformed', 'an exp that is text', { bearer: forgeCaveat(good, ['exp', 'never']) }],
  ['caveat_malformed', 'an unsorted method list', { bearer: forgeCaveat(good, ['method', ['PUT', 'GET']]) }],
  ['caveat_malformed', 'an empty method list', { bearer: forgeCaveat(good, ['method', []]) }],
  ['caveat_malformed', 'a prefix with a dot segment', { bearer: forgeCaveat(good, ['path_prefix', '/o/..']) }],
  ['caveat_malformed', 'a scope outside the table', { bearer: forgeCaveat(good, ['scope_in', ['*']]) }],
  ['caveat_malformed', 'a short address', { bearer: forgeCaveat(good, ['address', new Uint8Array(31)]) }],
  ['caveat_malformed', 'a negative size', { bearer: forgeCaveat(good, ['bytes_le', -1]) }],
  ['caveat_malformed', 'a block with host bits', { bearer: forgeCaveat(good, ['ip_cidr', '10.0.0.1/8']) }],
  ['scope_missing', 'another scope of the same service', { bearer: good, changes: { scope: 'storage:admin' } }],
  ['caveat_scope', 'a narrowed scope', { bearer: mint([{ kind: 'scope_in', scopes: ['storage:delete'] }]) }],
  ['caveat_method', 'another method', { bearer: mint([{ kind: 'method', methods: ['GET', 'HEAD'] }]) }],
  ['caveat_path', 'another path', { bearer: mint([{ kind: 'path_prefix', prefix: '/c' }]) }],
  [
    'caveat_path',
    'half a segment',
    { bearer: mint([{ kind: 'path_prefix', prefix: '/o/x' }]), changes: { path: '/o/xy' } },
  ],
  [
    'caveat_path',
    'an ambiguous path',
    { bearer: mint([{ kind: 'path_prefix', prefix: '/o' }]), changes: { path: '/o/../c' } },
  ],
  [
    'caveat_path',
    'an escaped slash',
    { bearer: mint([{ kind: 'path_prefix', prefix: '/' }]), changes: { path: '/o%2fx' } },
  ],
  ['caveat_address', 'another object', { bearer: mint([{ kind: 'address', address: `b3:${'00'.repeat(32)}` }]) }],
  [
    'caveat_address',
    'a request about no object',
    () =>
      verifyBearer(
        { keyring: STORAGE, isRevoked: () => false },
        mint([{ kind: 'address', address: `b3:${'01'.repeat(32)}` }]),
        withoutAddress,
      ),
  ],
  ['caveat_bytes', 'one byte more', { bearer: mint([{ kind: 'bytes_le', bytes: 999 }]) }],
  ['caveat_ip', 'another network', { bearer: mint([{ kind: 'ip_cidr', block: '10.2.0.0/16' }]) }],
  [
    'caveat_ip',
    'a peer without address',
    () =>
      verifyBearer(
        { keyring: STORAGE, isRevoked: () => false },
        mint([{ kind: 'ip_cidr', block: '0.0.0.0/0' }]),
        withoutIp,
      ),
  ],
]

describe('every deny reason', () => {
  for (const [reason, name, input] of DENIALS) {
    test(`${reason}: ${name}`, () => {
      const verdict = typeof input === 'function' ? input() : verify(input)
      assert.deepEqual(verdict, { kind: 'denied', reason })
    })
  }

  test('is triggered above', () => {
    assert.deepEqual([...new Set(DENIALS.map(([reason]) => reason))].sort(), Object.keys(DENY_REASONS).sort())
  })
})

describe('a bearer is granted', () => {
  const caveats: readonly Caveat[] = [
    { kind: 'exp', at: NOW + 3600 },
    { kind: 'nbf', at: NOW },
    { kind: 'method', methods: ['PUT', 'POST'] },
    { kind: 'path_prefix', prefix: '/o' },
    { kind: 'scope_in', scopes: ['storage:write', 'storage:delete'] },
    { kind: 'address', address: `b3:${'01'.repeat(32)}` },
    { kind: 'bytes_le', bytes: 5000 },
    { kind: 'ip_cidr', block: '10.0.0.0/8' },
  ]

  test('when every kind of caveat holds', () => {
    const verdict = verify({ bearer: mint(caveats) })
    assert.equal(verdict.kind, 'granted')
  })

  test('with the smallest of its byte limits, or none', () => {
    const limited = mint([
      { kind: 'bytes_le', bytes: 5000 },
      { kind: 'bytes_le', bytes: 2000 },
    ])
    const [some, none] = [verify({ bearer: limited }), verify({ bearer: good })]
    assert.ok(some.kind === 'granted' && some.maxBytes === 2000)
    assert.ok(none.kind === 'granted' && none.maxBytes === Number.POSITIVE_INFINITY)
  })

  test('up to a minute past exp and before nbf', () => {
    assert.equal(verify({ bearer: mint([{ kind: 'exp', at: NOW - 59 }]) }).kind, 'granted')
    assert.equal(verify({ bearer: mint([{ kind: 'nbf', at: NOW + 60 }]) }).kind, 'granted')
  })

  test('from a peer whose IPv4 address arrives mapped into IPv6, or with an interface', () => {
    assert.equal(verify({ bearer: mint(caveats), changes: { ip: '::ffff:10.9.9.9' } }).kind, 'granted')
    const local = mint([{ kind: 'ip_cidr', block: 'fe80::/10' }])
    assert.equal(verify({ bearer: local, changes: { ip: 'fe80::1%eth0' } }).kind, 'granted')
  })

  test('under a retiring key until its time is over', () => {
    assert.equal(verify({ bearer: good, keyring: rotated, changes: { nowMs: NOW_MS + 60_000 } }).kind, 'granted')
  })

  test('by the one token of a bundle that is addressed to the service', () => {
    const bundle = joinTokens(AUDIENCES.map((aud, index) => mintAdminToken(ROOT, { tid: tid(index), aud })))
    for (const aud of AUDIENCES) {
      const verdict = verify({ bearer: bundle, keyring: deriveKeyring(ROOT, aud), changes: { scope: 'node:admin' } })
      assert.ok(verdict.kind === 'granted' && verdict.token.aud === aud)
    }
    assert.equal(readBundle(bundle).length, AUDIENCES.length)
    assert.ok(bundle.length <= 12 * 1024)
  })
})

describe('a service cannot mint for another', () => {
  test('its ring refuses to', () => {
    assert.throws(() => mintToken(STORAGE, { tid: tid(1), aud: 'index', scopes: ['index:admin'] }), {
      kind: 'Forbidden',
      message: /keyring of storage cannot make keys for index/,
    })
    assert.throws(() => deriveKeyring(STORAGE, 'registry'), { kind: 'Forbidden' })
  })

  test('a ring relabelled by force signs tokens that every other service refuses', () => {
    for (const aud of AUDIENCES.filter((name) => name !== 'storage')) {
      const forged = mintToken({ ...STORAGE, holder: aud }, { tid: tid(1), aud, scopes: ['storage:write'] })
      const verdict = verify({ bearer: forged, keyring: deriveKeyring(ROOT, aud) })
      assert.deepEqual(verdict, { kind: 'denied', reason: 'token_signature' })
    }
  })

  test('for itself it can', () => {
    const own = mintToken(STORAGE, { tid: tid(1), aud: 'storage', scopes: ['storage:write'] })
    assert.equal(verify({ bearer: own }).kind, 'granted')
    assert.equal(own, good, 'the same key, whether derived before or while minting')
  })
})

test('a bundle too large or with two tokens for one service is not made', () => {
  assert.throws(() => joinTokens([good, attenuateToken(good, [{ kind: 'exp', at: 1 }])]), /one token for each service/)
  assert.throws(() => joinTokens([]), { kind: 'Malformed' })
})

test('the bearer is found under three schemes and in nothing else', () => {
  for (const scheme of ['Bearer', 'Macaroon', 'Capability', 'bearer', 'MACAROON']) {
    assert.equal(bearerOf(`${scheme} a.b-_9`), 'a.b-_9')
  }
  assert.equal(bearerOf('  Bearer a.b  '), 'a.b')
  for (const header of [undefined, '', 'Bearer', 'Bearer ', 'Basic abc', 'Bearer a b', 'Bearera', 'Bearer a=', 'a.b']) {
    assert.equal(bearerOf(header), undefined, String(header))
  }
})
