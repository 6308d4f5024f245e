/** BLAKE3 by the prebuilt native library: what Node gets (package.json `imports`, condition `node`). */
import { blake3, Blake3Hasher as NativeHasher } from '@napi-rs/blake-hash'
import type { Blake3Engine, Blake3Hasher } from './engine.ts'

/** The same bytes without Buffer's prototype, so that callers on Node and in a browser see one type. */
const plain = (buffer: Uint8Array): Uint8Array => new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength)

export const engine: Blake3Engine = {
  hash: (bytes) => plain(blake3(bytes)),
  keyedHash(key, bytes) {
    const keyBuffer = Buffer.from(key.buffer, key.byteOffset, key.byteLength)
    return plain(NativeHasher.newKeyed(keyBuffer).update(bytes).digestBuffer())
  },
  deriveKey: (context, material) => plain(NativeHasher.deriveKey(context, material)),
  createHasher() {
    const native = new NativeHasher()
    const hasher: Blake3Hasher = {
      update(bytes) {
        native.update(bytes)
        return hasher
      },
      digest: () => plain(native.digestBuffer()),
    }
    return hasher
  },
}
