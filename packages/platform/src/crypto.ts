/** The cryptography the wire formats do not carry themselves. Synchronous, so it is the same in the simulator. */

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
  /** Signs with this seed; making the key costs as much as a signature, so whoever signs often keeps the signer. */
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
