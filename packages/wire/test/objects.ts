import { chainingValue } from '../src/blake3/chaining.ts'
import { blake3 } from '../src/blake3/hash.ts'

export const KIB = 1024
export const MIB = 1024 * KIB
export const CHUNK_SIZES = [16 * KIB, 64 * KIB, 256 * KIB, MIB]

export const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

/** Bytes that look random but are the same in every run (xorshift32). */
export function noise(length: number): Uint8Array {
  const words = new Uint32Array(Math.ceil(length / 4))
  let state = 0x9e3779b9
  for (let index = 0; index < words.length; index++) {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    words[index] = state
  }
  return new Uint8Array(words.buffer).subarray(0, length)
}

/** The packed chaining values of an object cut into chunks. */
export function chainingValues(bytes: Uint8Array, chunkSize: number): Uint8Array {
  const count = Math.ceil(bytes.length / chunkSize)
  const values = new Uint8Array(count * 32)
  for (let index = 0; index < count; index++) {
    const chunk = bytes.subarray(index * chunkSize, (index + 1) * chunkSize)
    values.set(chainingValue(chunk, (index * chunkSize) / KIB), index * 32)
  }
  return values
}

/** Sizes above one chunk up to 64 MiB, the same in every run, small ones more often: their trees are ragged. */
export function* randomSizes(count: number): Generator<{ readonly size: number; readonly chunkSize: number }> {
  for (let index = 0; index < count; index++) {
    const draw = new DataView(blake3(new TextEncoder().encode(`size ${index}`)).buffer)
    const chunkSize = CHUNK_SIZES[index % CHUNK_SIZES.length] ?? MIB
    const fraction = draw.getUint32(0, true) / 2 ** 32
    yield { size: chunkSize + 1 + Math.floor((64 * MIB - chunkSize - 1) * fraction ** 2), chunkSize }
  }
}
