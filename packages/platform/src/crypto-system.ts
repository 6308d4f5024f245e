import { createHash, createHmac, createPrivateKey, createPublicKey, sign, timingSafeEqual, verify } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { Crypto } from './crypto.ts'

/** RFC 8410: what comes before the 32 bytes of an Ed25519 seed in PKCS #8, and of a public key in SubjectPublicKeyInfo. */
const PRIVATE_KEY_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex')
const PUBLIC_KEY_PREFIX = Buffer.from('302a300506032b6570032100', 'hex')

const KEY_BYTES = 32
const SIGNATURE_BYTES = 64

/** `node:crypto`. It keeps no state, so the simulator uses it as well. */
export const systemCrypto: Crypto = {
  hmacSha256(key, message) {
    return createHmac('sha256', key).update(message).digest()
  },
  sha256(message) {
    return createHash('sha256').update(message).digest()
  },
  crc32(message, seed = 0) {
    return crc32(message, seed)
  },
  equal(a, b) {
    return a.length === b.length && timingSafeEqual(a, b)
  },
  ed25519PublicKey(seed) {
    const spki = createPublicKey(privateKey(seed)).export({ format: 'der', type: 'spki' })
    return spki.subarray(PUBLIC_KEY_PREFIX.length)
  },
  ed25519Sign(seed, message) {
    return sign(null, message, privateKey(seed))
  },
  ed25519Verify(publicKey, message, signature) {
    if (publicKey.length !== KEY_BYTES || signature.length !== SIGNATURE_BYTES) return false
    const key = Buffer.concat([PUBLIC_KEY_PREFIX, publicKey])
    return verify(null, message, createPublicKey({ key, format: 'der', type: 'spki' }), signature)
  },
}

function privateKey(seed: Uint8Array): ReturnType<typeof createPrivateKey> {
  if (seed.length !== KEY_BYTES) throw new RangeError(`An Ed25519 seed has ${KEY_BYTES} bytes, not ${seed.length}.`)
  return createPrivateKey({ key: Buffer.concat([PRIVATE_KEY_PREFIX, seed]), format: 'der', type: 'pkcs8' })
}
