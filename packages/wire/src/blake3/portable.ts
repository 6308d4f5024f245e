/** BLAKE3 in plain JavaScript: what a browser gets, and the oracle of the native library. */
import { blake3 } from '@noble/hashes/blake3.js'
import { utf8ToBytes } from '@noble/hashes/utils.js'
import type { Blake3Engine, Blake3Hasher } from './engine.ts'

export const engine: Blake3Engine = {
  hash: (bytes) => blake3(bytes),
  keyedHash: (key, bytes) => blake3(bytes, { key }),
  deriveKey: (context, material) => blake3(material, { context: utf8ToBytes(context) }),
  createHasher() {
    const state = blake3.create()
    const hasher: Blake3Hasher = {
      update(bytes) {
        state.update(bytes)
        return hasher
      },
      // A clone is finished, not the state itself: the native hasher may also be asked again.
      digest: () => state.clone().digest(),
    }
    return hasher
  },
}
