import {
  createHash,
  createHmac,
  createPrivateKey,
  createPublicKey,
  type KeyObject,
  sign,
  timingSafeEqual,
  verify,
} from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { Crypto, Sign } from './crypto.ts'

/** One signature scheme as `node:crypto` takes it: raw bytes after a fixed piece of DER. */
interface Scheme {
  readonly name: string
  readonly publicKeyBytes: number
  readonly signatureBytes: number
  /** What comes before a 32-byte seed in PKCS #8. */
  readonly privateKeyPrefix: Buffer
  /** What comes before a public key in SubjectPublicKeyInfo. */
  readonly publicKeyPrefix: Buffer
}

/** RFC 8410. */
const ED25519: Scheme = {
  name: 'Ed25519',
  publicKeyBytes: 32,
  signatureBytes: 64,
  privateKeyPrefix: Buffer.from('302e020100300506032b657004220420', 'hex'),
  publicKeyPrefix: Buffer.from('302a300506032b6570032100', 'hex'),
}

/** RFC 9881, the seed alone; DER and not a raw import, which older supported releases of Node do not have. */
const ML_DSA_44: Scheme = {
  name: 'ML-DSA-44',
  publicKeyBytes: 1312,
  signatureBytes: 2420,
  privateKeyPrefix: Buffer.from('3034020100300b060960864801650304031104228020', 'hex'),
  publicKeyPrefix: Buffer.from('30820532300b06096086480165030403110382052100', 'hex'),
}

const SEED_BYTES = 32

/** `node:crypto`. It keeps no state, so the simulator uses it as well. */
export const systemCrypto: Crypto = {
  hmacSha256(key, message) {
    return createHmac('sha256', key).update(message).digest()
  },
  hmacSha512(key, message) {
    return createHmac('sha512', key).update(message).digest()
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
    return publicKeyOf(ED25519, seed)
  },
  ed25519Signer(seed) {
    return signer(ED25519, seed)
  },
  ed25519Verify(publicKey, message, signature) {
    return verifies(ED25519, publicKey, message, signature)
  },
  mlDsa44PublicKey(seed) {
    return publicKeyOf(ML_DSA_44, seed)
  },
  mlDsa44Signer(seed) {
    return signer(ML_DSA_44, seed)
  },
  mlDsa44Verify(publicKey, message, signature) {
    return verifies(ML_DSA_44, publicKey, message, signature)
  },
  verify(algorithm, publicKey, message, signature) {
    return verifies(algorithm === 'ed25519' ? ED25519 : ML_DSA_44, publicKey, message, signature)
  },
}

function privateKey({ name, privateKeyPrefix }: Scheme, seed: Uint8Array): KeyObject {
  if (seed.length !== SEED_BYTES) throw new RangeError(`An ${name} seed has ${SEED_BYTES} bytes, not ${seed.length}.`)
  return createPrivateKey({ key: Buffer.concat([privateKeyPrefix, seed]), format: 'der', type: 'pkcs8' })
}

function signer(scheme: Scheme, seed: Uint8Array): Sign {
  const key = privateKey(scheme, seed)
  return (message) => sign(null, message, key)
}

function publicKeyOf(scheme: Scheme, seed: Uint8Array): Uint8Array {
  const spki = createPublicKey(privateKey(scheme, seed)).export({ format: 'der', type: 'spki' })
  return spki.subarray(scheme.publicKeyPrefix.length)
}

function verifies(scheme: Scheme, publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  if (publicKey.length !== scheme.publicKeyBytes || signature.length !== scheme.signatureBytes) return false
  const key = Buffer.concat([scheme.publicKeyPrefix, publicKey])
  return verify(null, message, createPublicKey({ key, format: 'der', type: 'spki' }), signature)
}
