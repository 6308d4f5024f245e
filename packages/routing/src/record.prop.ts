import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CairnError } from '@cairn/kernel'
import { systemCrypto as crypto } from '@cairn/platform'
import { addressFromDigest } from '@cairn/wire'
import fc from 'fast-check'
import { type ProviderClaim, signRecord, verifyRecord } from './record.ts'

const WALL_MS = 1_800_000_000_000
const RUNS = process.env['CAIRN_LONG'] === '1' ? 20_000 : 60

const BYTES32 = fc.uint8Array({ minLength: 32, maxLength: 32 })
const URL_TEXT = fc.constantFrom('https://a.example', 'http://b.example:8080/base', 'https://[2606:4700::1111]')
const CLAIM: fc.Arbitrary<ProviderClaim> = fc
  .record({
    cid: BYTES32.map(addressFromDigest),
    http: fc.array(URL_TEXT, { minLength: 1, maxLength: 8 }),
    region: fc.option(fc.stringMatching(/^[a-z0-9][a-z0-9-]{0,31}$/), { nil: undefined }),
    seq: fc.maxSafeNat(),
    lifeS: fc.integer({ min: 1, max: 86_400 }),
  })
  .map(({ region, lifeS, ...claim }) => {
    const timed = { ...claim, exp: WALL_MS / 1000 + lifeS }
    return region === undefined ? timed : { ...timed, region }
  })

function refusal(bytes: Uint8Array): string | undefined {
  try {
    verifyRecord(crypto, bytes, { wallMs: WALL_MS })
    return undefined
  } catch (error) {
    return error instanceof CairnError ? error.code : `not ours: ${String(error)}`
  }
}

test('whatever is signed verifies, and says what was signed', () => {
  fc.assert(
    fc.property(BYTES32, CLAIM, (seed, claim) => {
      const record = signRecord(crypto, seed, claim)
      assert.deepEqual(verifyRecord(crypto, record.bytes, { wallMs: WALL_MS }), record)
    }),
    { numRuns: RUNS },
  )
})

test('one flipped bit anywhere is refused', () => {
  fc.assert(
    fc.property(BYTES32, CLAIM, fc.nat(), (seed, claim, at) => {
      const { bytes } = signRecord(crypto, seed, claim)
      const bit = at % (bytes.length * 8)
      const flipped = bytes.slice()
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      assert.match(refusal(flipped) ?? 'accepted', /^record_/)
    }),
    { numRuns: 4 * RUNS },
  )
})

test('every single bit of one record matters', () => {
  const { bytes } = signRecord(crypto, new Uint8Array(32).fill(9), {
    cid: addressFromDigest(new Uint8Array(32).fill(1)),
    http: ['https://a.example'],
    seq: 1,
    exp: WALL_MS / 1000 + 60,
  })
  assert.equal(refusal(bytes), undefined)
  for (let bit = 0; bit < bytes.length * 8; bit += 1) {
    const flipped = bytes.slice()
    flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7))
    assert.match(refusal(flipped) ?? `accepted with bit ${bit} flipped`, /^record_/)
  }
})

test('arbitrary bytes are refused with one of our reasons', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => assert.match(refusal(bytes) ?? 'accepted', /^record_/)),
    { numRuns: 4 * RUNS },
  )
})
