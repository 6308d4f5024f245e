/** The cryptography the wire formats do not carry themselves. Synchronous, so it is the same in the simulator. */
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

/** The signature of a message by one key. */
export type Sign = (message: Uint8Array) => Uint8Array

export interface Crypto {
  hmacSha256(key: Uint8Array, message: Uint8Array): Uint8Array
  hmacSha512(key: Uint8Array, message: Uint8Array): Uint8Array
  sha256(message: Uint8Array): Uint8Array
  /** CRC-32 (zlib's) of `message`; `seed` is the value for the bytes before it, so a sum can go on over several pieces. */
  crc32(message: Uint8Array, seed?: number): number
  /** Takes the same time wherever the first difference is; false for different lengths. */
  equal(a: Uint8Array, b: Uint8Array): boolean
  /** A 32-byte Ed25519 seed's public key. */
  ed25519PublicKey(seed: Uint8Array): Uint8Array
  /** Returns a signer for this seed. Making the key costs as much as a signature, so a frequent caller keeps the signer. */
  ed25519Signer(seed: Uint8Array): Sign
  ed25519Verify(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean
  /** A 32-byte ML-DSA-44 seed's public key. ML-DSA-44 here is FIPS 204's pure form with an empty context. */
  mlDsa44PublicKey(seed: Uint8Array): Uint8Array
  /** Signs with fresh randomness, as FIPS 204 advises: the same message gives another signature each time. */
  mlDsa44Signer(seed: Uint8Array): Sign
  mlDsa44Verify(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean
  /** Whichever of the two the algorithm names; false for keys and signatures of a wrong length. */
  verify(algorithm: 'ed25519' | 'ml-dsa-44', publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean
}
