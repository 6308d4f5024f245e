/** The cryptography the wire formats do not carry themselves. Synchronous, so it is the same in the simulator. */

export interface Crypto {
  hmacSha256(key: Uint8Array, message: Uint8Array): Uint8Array
  sha256(message: Uint8Array): Uint8Array
  /** CRC-32 (zlib's) of `message`; `seed` is the value for the bytes before it, so a sum can go on over several pieces. */
  crc32(message: Uint8Array, seed?: number): number
  /** Takes the same time wherever the first difference is; false for different lengths. */
  equal(a: Uint8Array, b: Uint8Array): boolean
  /** A 32-byte Ed25519 seed's public key. */
  ed25519PublicKey(seed: Uint8Array): Uint8Array
  ed25519Sign(seed: Uint8Array, message: Uint8Array): Uint8Array
  ed25519Verify(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean
}
