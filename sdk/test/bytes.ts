import { SeededRandom } from '@cairn/kernel/testing'

const KIB = 1024
export const CHUNK = 64 * KIB

/** Bytes no two chunks of which are alike. */
export function noise(length: number, seed = 1): Uint8Array {
  const bytes = new Uint8Array(length)
  const random = new SeededRandom(seed)
  for (let at = 0; at < length; at += KIB) bytes.set(random.bytes(Math.min(16, length - at)), at)
  return bytes
}

export async function collect(stream: ReadableStream<Uint8Array>): Promise<Uint8Array> {
  const pieces: Uint8Array[] = []
  for await (const piece of stream) pieces.push(piece)
  return new Uint8Array(Buffer.concat(pieces))
}

/** What was handed out before the error, and the error. */
export async function collectUntilError(
  stream: ReadableStream<Uint8Array>,
): Promise<{ bytes: Uint8Array; error: unknown }> {
  const pieces: Uint8Array[] = []
  try {
    for await (const piece of stream) pieces.push(piece)
    return { bytes: new Uint8Array(Buffer.concat(pieces)), error: undefined }
  } catch (error) {
    return { bytes: new Uint8Array(Buffer.concat(pieces)), error }
  }
}
