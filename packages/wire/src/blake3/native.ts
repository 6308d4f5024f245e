/** BLAKE3 by the prebuilt native library: what Node gets (package.json `imports`, condition `node`). */
import { blake3, Blake3Hasher as NativeHasher } from '@napi-rs/blake-hash'
import { plainBytes } from '../bytes.ts'
import type { Blake3Engine, Blake3Hasher } from './engine.ts'

/** The binding takes any byte view; only its declaration asks for Node's own. */
type NativeBytes = Parameters<typeof NativeHasher.newKeyed>[0]

export const engine: Blake3Engine = {
  hash: (bytes) => plainBytes(blake3(bytes as NativeBytes)),
  keyedHash: (key, bytes) =>
    plainBytes(
      NativeHasher.newKeyed(key as NativeBytes)
        .update(bytes as NativeBytes)
        .digestBuffer(),
    ),
  deriveKey: (context, material) => plainBytes(NativeHasher.deriveKey(context, material as NativeBytes)),
  createHasher() {
    const native = new NativeHasher()
    const hasher: Blake3Hasher = {
      update(bytes) {
        native.update(bytes as NativeBytes)
        return hasher
      },
      digest: () => plainBytes(native.digestBuffer()),
    }
    return hasher
  },
}
