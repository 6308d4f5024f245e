/** What a BLAKE3 library must offer us; `native.ts` and `portable.ts` each wrap one, and one test suite runs both. */
export interface Blake3Engine {
  /** The 32-byte digest of `bytes`. */
  hash(bytes: Uint8Array): Uint8Array
  /** The digest under a 32-byte key: a MAC. */
  keyedHash(key: Uint8Array, bytes: Uint8Array): Uint8Array
  /** A 32-byte key for the purpose named by `context`, from key material. */
  deriveKey(context: string, material: Uint8Array): Uint8Array
  createHasher(): Blake3Hasher
}

/** A digest over bytes that arrive in pieces. */
export interface Blake3Hasher {
  update(bytes: Uint8Array): this
  digest(): Uint8Array
}
