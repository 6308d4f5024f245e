import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { CairnError } from '@cairn/kernel'
import fc from 'fast-check'
import { anyCaveat, anyRequest, anyScopes, NOW, ROOT, request, STORAGE, tid } from '../test/tokens.ts'
import { type BearerDecision, verifyBearer } from './bearer.ts'
import { fromBase64url, toBase64url } from './bytes.ts'
import { decodeCbor, encodeCbor } from './cbor.ts'
import { attenuateToken, mintToken, readToken } from './token.ts'

const verify = (bearer: string, asked = request): BearerDecision =>
  verifyBearer({ keyring: STORAGE, isRevoked: () => false }, bearer, asked)

describe('attenuation', () => {
  test('only narrows: what a narrowed token allows, the token before it allows, with no smaller limit', (t) => {
    let both = 0
    let onlyBefore = 0
    const inputs = [
      anyScopes,
      fc.array(anyCaveat, { maxLength: 3 }),
      fc.array(anyCaveat, { minLength: 1, maxLength: 3 }),
      anyRequest,
    ] as const
    fc.assert(
      fc.property(...inputs, (scopes, first, more, asked) => {
        const wide = mintToken(ROOT, { tid: tid(1), aud: 'storage', scopes, caveats: first })
        const narrow = attenuateToken(wide, more)
        const [before, after] = [verify(wide, asked), verify(narrow, asked)]
        if (after.kind === 'granted') {
          assert.ok(before.kind === 'granted', 'the narrowed token allows what the first did not')
          assert.ok(after.maxBytes <= before.maxBytes)
          assert.deepEqual(after.token.scopes, before.token.scopes)
          both++
        } else if (before.kind === 'granted') onlyBefore++
      }),
      { numRuns: 3000 },
    )
    t.diagnostic(`allowed by both ${both} times, only by the wider one ${onlyBefore} times`)
    assert.ok(both > 30 && onlyBefore > 30, `the property is vacuous: ${both}, ${onlyBefore}`)
  })

  test('order of caveats does not change what is allowed', () => {
    fc.assert(
      fc.property(anyScopes, fc.array(anyCaveat, { maxLength: 4 }), anyRequest, (scopes, caveats, asked) => {
        const one = mintToken(ROOT, { tid: tid(1), aud: 'storage', scopes, caveats })
        const other = mintToken(ROOT, { tid: tid(1), aud: 'storage', scopes, caveats: [...caveats].reverse() })
        assert.equal(verify(one, asked).kind, verify(other, asked).kind)
      }),
      { numRuns: 1500 },
    )
  })
})

test('a token reads back to what was minted', () => {
  fc.assert(
    fc.property(anyScopes, fc.array(anyCaveat, { maxLength: 5 }), (scopes, caveats) => {
      const { claims } = readToken(mintToken(ROOT, { tid: tid(3), aud: 'index', scopes, caveats }))
      assert.deepEqual(claims.scopes, [...scopes].sort())
      assert.deepEqual(
        claims.caveats.map(([kind]) => kind),
        caveats.map(({ kind }) => kind),
      )
    }),
  )
})

const ORIGINAL = mintToken(ROOT, {
  tid: tid(5),
  aud: 'storage',
  scopes: ['storage:write'],
  caveats: [
    { kind: 'exp', at: NOW + 3600 },
    { kind: 'bytes_le', bytes: 5000 },
  ],
})
const BYTES = fromBase64url(ORIGINAL)

/** Ways to spell the same or nearly the same token: none may pass but the original text itself. */
const mutations: fc.Arbitrary<string> = fc.oneof(
  // one to three flipped bits
  fc.uniqueArray(fc.nat(8 * BYTES.length - 1), { minLength: 1, maxLength: 3 }).map((bits) => {
    const bytes = BYTES.slice()
    for (const bit of bits) bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7))
    return toBase64url(bytes)
  }),
  // cut short, or begun late
  fc.nat(ORIGINAL.length - 1).map((length) => ORIGINAL.slice(0, length)),
  fc.integer({ min: 1, max: ORIGINAL.length }).map((start) => ORIGINAL.slice(start)),
  fc.nat(BYTES.length - 1).map((length) => toBase64url(BYTES.subarray(0, length))),
  // one character replaced, including by the other base 64 alphabet and by stray trailing bits
  fc
    .tuple(fc.nat(ORIGINAL.length - 1), fc.constantFrom(...'ABCxyz019-_+/=. \n'.split('')))
    .map(([at, character]) => ORIGINAL.slice(0, at) + character + ORIGINAL.slice(at + 1)),
  fc
    .constantFrom(...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'.split(''))
    .map((last) => ORIGINAL.slice(0, -1) + last),
  // padding, white space, more bytes
  fc.constantFrom('=', '==', ' ', '\n', 'A', 'AA', 'AAAA', '.').map((tail) => ORIGINAL + tail),
  // CBOR spelled otherwise: a longer head for the outer array, the version, or a string
  fc
    .constantFrom(
      Uint8Array.from([0x98, 0x07, ...BYTES.subarray(1)]),
      Uint8Array.from([0x9f, ...BYTES.subarray(1), 0xff]),
      Uint8Array.from([BYTES[0] ?? 0, 0x18, 0x01, ...BYTES.subarray(2)]),
      Uint8Array.from([BYTES[0] ?? 0, 0x01, 0x58, 0x10, ...BYTES.subarray(3)]),
      Uint8Array.from([0xd9, 0xd9, 0xf7, ...BYTES]),
    )
    .map(toBase64url),
  // the same fields with one replaced
  fc
    .constantFrom<[number, unknown]>(
      [1, tid(6)],
      [2, 'k2'],
      [3, 'index'],
      [4, ['storage:admin']],
      [4, ['*']],
      [4, ['storage:delete', 'storage:write']],
      [5, []],
      [5, [['exp', NOW + 3600]]],
      [
        5,
        [
          ['bytes_le', 5000],
          ['exp', NOW + 3600],
        ],
      ],
      [
        5,
        [
          ['exp', NOW + 7200],
          ['bytes_le', 5000],
        ],
      ],
    )
    .map(([index, value]) => toBase64url(encodeCbor((decodeCbor(BYTES) as unknown[]).with(index, value)))),
)

test('10 000 bit flips, re-encodings and truncations of a good token: none verifies', (t) => {
  const reasons = new Map<string, number>()
  assert.equal(verify(ORIGINAL).kind, 'granted')
  fc.assert(
    fc.property(mutations, (mutated) => {
      if (mutated === ORIGINAL) return
      const verdict = verify(mutated)
      assert.ok(verdict.kind === 'denied', mutated)
      reasons.set(verdict.reason, (reasons.get(verdict.reason) ?? 0) + 1)
    }),
    { numRuns: 10_000 },
  )
  t.diagnostic(JSON.stringify(Object.fromEntries(reasons)))
  assert.ok((reasons.get('token_signature') ?? 0) > 1000, 'too few mutations got as far as the signature')
})

test('reading any text ends in a token or in one of our errors', () => {
  const texts = fc.oneof(fc.string(), fc.base64String(), fc.uint8Array({ maxLength: 100 }).map(toBase64url), mutations)
  fc.assert(
    fc.property(texts, (text) => {
      try {
        readToken(text)
      } catch (error) {
        assert.ok(error instanceof CairnError, String(error))
      }
    }),
    { numRuns: 5000 },
  )
})
