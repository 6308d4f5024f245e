import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { systemCrypto } from './crypto.ts'

const VECTORS = new URL('../../../verify/vectors/wycheproof/', import.meta.url)

interface Case {
  readonly tcId: number
  readonly comment: string
  readonly result: 'valid' | 'invalid' | 'acceptable'
  readonly msg: string
  readonly key: string
  readonly sig: string
  readonly tag: string
  readonly ctx?: string
}

interface Group<PublicKey = { readonly pk: string }> {
  readonly publicKey: PublicKey
  readonly tagSize: number
  readonly tests: readonly Case[]
}

function groups<PublicKey = { readonly pk: string }>(file: string): readonly Group<PublicKey>[] {
  const parsed = JSON.parse(readFileSync(new URL(file, VECTORS), 'utf8')) as { testGroups: Group<PublicKey>[] }
  return parsed.testGroups
}

function hex(text: string): Uint8Array {
  return Buffer.from(text, 'hex')
}

describe('systemCrypto', () => {
  test('decides every Wycheproof Ed25519 signature as published', (t) => {
    const counts = { accepted: 0, refused: 0 }
    for (const { publicKey, tests } of groups('ed25519_test.json')) {
      for (const { tcId, comment, msg, sig, result } of tests) {
        const verdict = systemCrypto.verify('ed25519', hex(publicKey.pk), hex(msg), hex(sig))
        assert.equal(verdict, result === 'valid', `case ${tcId}: ${comment}`)
        assert.equal(systemCrypto.ed25519Verify(hex(publicKey.pk), hex(msg), hex(sig)), verdict)
        counts[verdict ? 'accepted' : 'refused'] += 1
      }
    }
    assert.ok(counts.accepted > 50 && counts.refused > 50)
    t.diagnostic(`${counts.accepted} accepted, ${counts.refused} refused`)
  })

  test('HMAC-SHA512 is that of RFC 4231, test case 2', () => {
    const mac = systemCrypto.hmacSha512(Buffer.from('Jefe'), Buffer.from('what do ya want for nothing?'))
    const expected =
      '164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737'
    assert.equal(Buffer.from(mac).toString('hex'), expected)
  })

  test('decides every Wycheproof ML-DSA-44 signature as published, and refuses those made under a context', (t) => {
    const counts = { accepted: 0, refused: 0, underContext: 0 }
    for (const { publicKey, tests } of groups<string>('mldsa_44_verify_test.json')) {
      for (const { tcId, comment, msg, sig, result, ctx = '' } of tests) {
        const verdict = systemCrypto.verify('ml-dsa-44', hex(publicKey), hex(msg), hex(sig))
        const underContext = result === 'valid' && ctx !== ''
        assert.equal(verdict, result === 'valid' && !underContext, `case ${tcId}: ${comment}`)
        assert.equal(systemCrypto.mlDsa44Verify(hex(publicKey), hex(msg), hex(sig)), verdict)
        counts[verdict ? 'accepted' : underContext ? 'underContext' : 'refused'] += 1
      }
    }
    assert.ok(counts.accepted > 50 && counts.refused > 50)
    const { accepted, refused, underContext } = counts
    t.diagnostic(`${accepted} accepted, ${refused} refused, ${underContext} refused for their context`)
  })

  test('decides every Wycheproof HMAC-SHA256 tag as published', (t) => {
    let cases = 0
    for (const { tagSize, tests } of groups('hmac_sha256_test.json')) {
      for (const { tcId, comment, key, msg, tag, result } of tests) {
        cases += 1
        const computed = systemCrypto.hmacSha256(hex(key), hex(msg)).subarray(0, tagSize / 8)
        assert.equal(systemCrypto.equal(computed, hex(tag)), result === 'valid', `case ${tcId}: ${comment}`)
      }
    }
    assert.ok(cases > 100)
    t.diagnostic(`${cases} cases`)
  })

  test('signs and derives as in RFC 8032, test 2', () => {
    const seed = hex('4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb')
    const publicKey = systemCrypto.ed25519PublicKey(seed)
    const signature = systemCrypto.ed25519Signer(seed)(hex('72'))
    assert.equal(
      Buffer.from(publicKey).toString('hex'),
      '3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c',
    )
    assert.equal(
      Buffer.from(signature).toString('hex'),
      '92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00',
    )
    assert.ok(systemCrypto.ed25519Verify(publicKey, hex('72'), signature))
    assert.throws(() => systemCrypto.ed25519Signer(seed.subarray(1))(hex('72')), RangeError)
  })

  test('derives ML-DSA-44 keys from seeds as in RFC 9881, and verifies what it signs', () => {
    const seed = hex('000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f')
    const publicKey = systemCrypto.mlDsa44PublicKey(seed)
    assert.equal(publicKey.length, 1312)
    const [start, end] = [publicKey.subarray(0, 32), publicKey.subarray(-32)]
    assert.equal(Buffer.from(start).toString('base64'), '17K0clSq4NtF55MNSpjSyX2PE5fReJ2voXAksxbpvsk=')
    assert.equal(Buffer.from(end).toString('base64'), 'IgJ2YVHxapZfn4Hs52zAcLVYaeTbl4TPBcgwsyQsgxI=')
    const signature = systemCrypto.mlDsa44Signer(seed)(hex('72'))
    assert.equal(signature.length, 2420)
    assert.ok(systemCrypto.mlDsa44Verify(publicKey, hex('72'), signature))
    assert.equal(systemCrypto.mlDsa44Verify(publicKey, hex('73'), signature), false)
    assert.notDeepEqual(systemCrypto.mlDsa44Signer(seed)(hex('72')), signature)
    assert.throws(() => systemCrypto.mlDsa44Signer(seed.subarray(1))(hex('72')), RangeError)
    assert.throws(() => systemCrypto.mlDsa44PublicKey(seed.subarray(1)), RangeError)
  })

  test('refuses keys and signatures of the wrong length without an exception', () => {
    assert.equal(systemCrypto.ed25519Verify(new Uint8Array(31), hex('72'), new Uint8Array(64)), false)
    assert.equal(systemCrypto.ed25519Verify(new Uint8Array(32), hex('72'), new Uint8Array(63)), false)
    assert.equal(systemCrypto.mlDsa44Verify(new Uint8Array(1311), hex('72'), new Uint8Array(2420)), false)
    assert.equal(systemCrypto.mlDsa44Verify(new Uint8Array(1312), hex('72'), new Uint8Array(2419)), false)
    assert.equal(systemCrypto.equal(new Uint8Array(3), new Uint8Array(4)), false)
    assert.equal(systemCrypto.equal(new Uint8Array(4), new Uint8Array(3)), false)
  })

  test('answers false, and never with an exception, to keys that are no points', () => {
    for (let round = 0; round < 64; round += 1) {
      const key = systemCrypto.sha256(Uint8Array.of(round))
      assert.equal(systemCrypto.verify('ed25519', key, hex('72'), new Uint8Array(64)), false)
    }
    const noise = new Uint8Array(2420).fill(0xff)
    assert.equal(systemCrypto.verify('ml-dsa-44', noise.subarray(0, 1312), hex('72'), noise), false)
  })

  test('sums as zlib does, in one piece or in several', () => {
    assert.equal(systemCrypto.crc32(Buffer.from('123456789')), 0xcbf43926)
    assert.equal(systemCrypto.crc32(Buffer.from('6789'), systemCrypto.crc32(Buffer.from('12345'))), 0xcbf43926)
  })

  test('hashes as in FIPS 180-4', () => {
    assert.equal(
      Buffer.from(systemCrypto.sha256(Buffer.from('abc'))).toString('hex'),
      'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
    )
  })
})
