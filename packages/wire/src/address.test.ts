import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { base36 } from 'multiformats/bases/base36'
import { base58btc } from 'multiformats/bases/base58'
import { CID } from 'multiformats/cid'
import { addressFromCid, addressFromDigest, addressOf, cidFromAddress, digestOf, parseAddress } from './address.ts'

const EMPTY = 'b3:af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262'
const digests = fc.uint8Array({ minLength: 32, maxLength: 32 })

describe('addresses', () => {
  test('the address of no bytes is the published BLAKE3 of no bytes', () => {
    assert.equal(addressOf(new Uint8Array(0)), EMPTY)
    assert.equal(parseAddress(EMPTY), EMPTY)
  })

  test('an error says precisely what is wrong', () => {
    const hex = EMPTY.slice(3)
    for (const [text, problem] of [
      ['', /does not start with b3:/],
      [hex, /does not start with b3:/],
      [`sha256:${hex}`, /does not start with b3:/],
      [`B3:${hex}`, /prefix must be lowercase/],
      [`b3:${hex.toUpperCase()}`, /digits must be lowercase/],
      [`b3:${hex.slice(1)}`, /has 63 hexadecimal digits instead of 64/],
      [`b3:${hex}0`, /has 65 hexadecimal digits/],
      ['b3:', /has 0 hexadecimal digits/],
      [`b3:${hex.slice(0, 10)}g${hex.slice(11)}`, /character 14 is "g", not a hexadecimal digit/],
      [`b3:${hex} `, /character 68 is " "/],
      [`b3:${hex}\n`, /character 68 is "\\n"/],
      [`b3:${hex.slice(1)}😀`, /is "😀"/],
    ] as const) {
      assert.throws(() => parseAddress(text), { name: 'CairnError', kind: 'Malformed', message: problem }, text)
    }
  })

  test('digest and address are each other’s inverse', () => {
    fc.assert(
      fc.property(digests, (digest) => {
        assert.deepEqual(digestOf(addressFromDigest(digest)), digest)
      }),
    )
    assert.throws(() => addressFromDigest(new Uint8Array(31)), /has 32 bytes; this one has 31/)
  })
})

describe('CID bridge', () => {
  test('round trip through CIDv1 raw blake3, in the spelling other tools use', () => {
    fc.assert(
      fc.property(digests, (digest) => {
        const address = addressFromDigest(digest)
        const cid = cidFromAddress(address)
        assert.match(cid, /^bafkr4i[a-z2-7]{52}$/)
        assert.equal(addressFromCid(cid), address)
      }),
    )
    // Multibase b, then 01 (v1) 55 (raw) 1e (blake3) 20 (32 bytes) and the digest.
    const bytes = Buffer.from(`01551e20${EMPTY.slice(3)}`, 'hex')
    assert.equal(cidFromAddress(parseAddress(EMPTY)), `b${base32(bytes)}`)
  })

  test('another codec, hash, version, length, base or case is refused', () => {
    const cid = cidFromAddress(parseAddress(EMPTY))
    const digest = EMPTY.slice(3)
    for (const text of [
      '',
      'hello',
      cid.toUpperCase(),
      cid.slice(0, -1),
      `${cid}a`,
      `b${base32(Buffer.from(`01711e20${digest}`, 'hex'))}`,
      `b${base32(Buffer.from(`01551220${digest}`, 'hex'))}`,
      `b${base32(Buffer.from(`01551e1f${digest.slice(2)}`, 'hex'))}`,
      `f01551e20${digest}`,
      CID.parse(cid).toString(base58btc),
      CID.parse(cid).toString(base36),
      'QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWnPbdG',
    ]) {
      assert.throws(() => addressFromCid(text), { kind: 'Malformed' }, text)
    }
  })
})

/** RFC 4648 base 32, lower case, no padding: written out here so that the library is not its own witness. */
function base32(bytes: Uint8Array): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('')
  return (bits.match(/.{1,5}/g) ?? [])
    .map((group) => 'abcdefghijklmnopqrstuvwxyz234567'[Number.parseInt(group.padEnd(5, '0'), 2)])
    .join('')
}
