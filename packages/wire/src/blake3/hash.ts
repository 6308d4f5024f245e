/**
 * BLAKE3, one-shot, streaming, keyed and as a key derivation. `#blake3` is the native library on Node and plain
 * JavaScript elsewhere, chosen by package.json `imports`.
 */
import { CairnError } from '@cairn/kernel'
import { engine } from '#blake3'
import { DIGEST_BYTES } from './constants.ts'
import type { Blake3Hasher } from './engine.ts'

/** The 32-byte digest of `bytes`. */
export function blake3(bytes: Uint8Array): Uint8Array {
  return engine.hash(bytes)
}

/** A digest over bytes that arrive in pieces; `digest` may be asked at any time and does not end the stream. */
export function createBlake3(): Blake3Hasher {
  return engine.createHasher()
}

/** The MAC of `bytes` under a 32-byte key. */
export function keyedBlake3(key: Uint8Array, bytes: Uint8Array): Uint8Array {
  if (key.length !== DIGEST_BYTES) {
    throw new CairnError('Malformed', `A BLAKE3 key has ${DIGEST_BYTES} bytes; this one has ${key.length}.`)
  }
  return engine.keyedHash(key, bytes)
}

/** A 32-byte key for the purpose that `context` names; contexts are constants of the program, never input. */
export function deriveBlake3Key(context: string, material: Uint8Array): Uint8Array {
  return engine.deriveKey(context, material)
}
