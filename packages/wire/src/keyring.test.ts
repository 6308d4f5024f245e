import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { NOW, NOW_MS, ROOT } from '../test/tokens.ts'
import {
  activeKey,
  createKeyring,
  decodeKeyring,
  deriveKeyring,
  encodeKeyring,
  isRetired,
  type Keyring,
  rotateKeyring,
} from './keyring.ts'
import { AUDIENCES } from './scopes.ts'

const secret = (seed: number): Uint8Array => new Uint8Array(32).fill(seed)
const overlap = { nowMs: NOW_MS, overlapMs: 90_500 }

describe('derivation', () => {
  test('each service gets its own key, and none of them is the root', () => {
    const keys = [ROOT, ...AUDIENCES.map((audience) => deriveKeyring(ROOT, audience))].map((ring) =>
      Buffer.from(activeKey(ring).secret).toString('hex'),
    )
    assert.equal(new Set(keys).size, AUDIENCES.length + 1)
  })

  test('keeps kid, state and end of every key', () => {
    const ring = deriveKeyring(rotateKeyring(ROOT, { kid: 'k2', secret: secret(2) }, overlap), 'edge')
    assert.equal(ring.holder, 'edge')
    assert.deepEqual(
      ring.keys.map(({ secret: _secret, ...rest }) => rest),
      [
        { kid: 'k2', state: 'active' },
        { kid: 'k1', state: 'retiring', notAfter: NOW + 91 },
      ],
    )
  })
})

describe('rotation', () => {
  test('a retired key is dropped at the next rotation, one still in its overlap is kept with its own end', () => {
    const second = rotateKeyring(ROOT, { kid: 'k2', secret: secret(2) }, overlap)
    const soon = rotateKeyring(second, { kid: 'k3', secret: secret(3) }, { nowMs: NOW_MS + 1000, overlapMs: 60_000 })
    assert.deepEqual(
      soon.keys.map(({ kid, notAfter }) => [kid, notAfter]),
      [
        ['k3', undefined],
        ['k2', NOW + 61],
        ['k1', NOW + 91],
      ],
    )
    const late = rotateKeyring(soon, { kid: 'k4', secret: secret(4) }, { nowMs: NOW_MS + 92_000, overlapMs: 0 })
    assert.deepEqual(
      late.keys.map(({ kid }) => kid),
      ['k4', 'k3'],
    )
    assert.equal(activeKey(late).kid, 'k4')
  })

  test('a kid is never given twice', () => {
    assert.throws(() => rotateKeyring(ROOT, { kid: 'k1', secret: secret(2) }, overlap), /same kid/)
  })

  test('a key ends just after its second', () => {
    const key = { kid: 'a', state: 'retiring', notAfter: NOW, secret: secret(1) } as const
    assert.ok(!isRetired(key, NOW_MS))
    assert.ok(isRetired(key, NOW_MS + 1))
  })
})

describe('the file', () => {
  test('reads back what was written', () => {
    const kids = fc.string({ unit: fc.constantFrom(...'abcz0189-'.split('')), minLength: 1, maxLength: 32 })
    const keys = fc.uniqueArray(
      fc.record(
        {
          kid: kids,
          state: fc.constant('retiring' as const),
          secret: fc.uint8Array({ minLength: 32, maxLength: 32 }),
          notAfter: fc.maxSafeNat(),
        },
        { requiredKeys: ['kid', 'state', 'secret'], noNullPrototype: true },
      ),
      { selector: ({ kid }) => kid, minLength: 1, maxLength: 5 },
    )
    fc.assert(
      fc.property(fc.constantFrom('root' as const, ...AUDIENCES), keys, (holder, [first, ...rest]) => {
        assert.ok(first !== undefined)
        const ring: Keyring = { holder, keys: [{ kid: first.kid, state: 'active', secret: first.secret }, ...rest] }
        assert.deepEqual(decodeKeyring(encodeKeyring(ring)), ring)
      }),
    )
  })

  test('anything else is refused', () => {
    const key = { kid: 'k1', not_after: null, secret: Buffer.alloc(32).toString('base64url'), state: 'active' }
    const file = { v: 1, holder: 'root', keys: [key] }
    const decode = (value: unknown): Keyring => decodeKeyring(Buffer.from(JSON.stringify(value)))
    assert.doesNotThrow(() => decode(file))
    for (const [value, message] of [
      [[], /expected holder, keys, v/],
      [{ ...file, v: 2 }, /version/],
      [{ ...file, extra: 1 }, /expected holder, keys, v/],
      [{ ...file, holder: 'moon' }, /neither root nor a service/],
      [{ ...file, keys: {} }, /not a list/],
      [{ ...file, keys: [] }, /not exactly one key is active/],
      [{ ...file, keys: [key, { ...key, kid: 'k2' }] }, /not exactly one key is active/],
      [{ ...file, keys: [key, { ...key, state: 'retiring' }] }, /same kid/],
      [{ ...file, keys: [{ ...key, state: 'dead' }] }, /active or retiring/],
      [{ ...file, keys: [{ ...key, kid: 'K' }] }, /a-z/],
      [{ ...file, keys: [{ ...key, kid: 1 }] }, /not a string/],
      [{ ...file, keys: [{ ...key, not_after: 'x' }] }, /not a number/],
      [{ ...file, keys: [{ ...key, secret: 'AAAA' }] }, /not 32 bytes/],
      [{ ...file, keys: [{ ...key, secret: '+' }] }, /base64url/],
      [{ ...file, keys: [{ kid: 'k1' }] }, /expected kid, not_after, secret, state/],
      [{ ...file, keys: Array.from({ length: 17 }, (_, i) => ({ ...key, kid: `k${i}` })) }, /more than 16/],
    ] as const) {
      assert.throws(() => decode(value), { kind: 'Malformed', message })
    }
  })

  test('a ring without its secret bytes is not made', () => {
    assert.throws(() => createKeyring('k1', new Uint8Array(16)), /not 32 bytes/)
  })
})

test('the key that mints is the active one, wherever it stands, and a ring without one cannot mint', () => {
  const secret = new Uint8Array(32)
  const retiring = { kid: 'k1', state: 'retiring', secret, notAfter: 1 } as const
  const active = { kid: 'k2', state: 'active', secret } as const
  assert.equal(activeKey({ holder: 'root', keys: [retiring, active] }), active)
  assert.throws(() => activeKey({ holder: 'root', keys: [retiring] }), { kind: 'Internal' })
  assert.deepEqual(
    [isRetired(active, 1e15), isRetired(retiring, 1_000), isRetired(retiring, 1_001)],
    [false, false, true],
  )
})

test('what is no object is no keyring', () => {
  for (const text of ['null', '1', '"a"', '[]', '["holder","keys","v"]'])
    assert.throws(() => decodeKeyring(Buffer.from(text)), { kind: 'Malformed' }, text)
})
