/** Bodies cut into chunks. */
import { objectTooLarge } from '../errors.ts'
import { TwoBuffers } from './two-buffers.ts'

/** The chunks of a body that is here whole; they share its memory. */
export function* cutWhole(body: Uint8Array, chunkSize: number): Generator<Uint8Array> {
  for (let at = 0; at < body.length; at += chunkSize) yield body.subarray(at, at + chunkSize)
}

/** The chunks of a body as it comes, however the stream was cut. Each is good until the next but one is asked for. */
export async function* cutStream(
  body: AsyncIterable<Uint8Array>,
  chunkSize: number,
  bytesMax: number,
): AsyncGenerator<Uint8Array> {
  const buffers = new TwoBuffers()
  let chunk: Uint8Array | undefined
  let filled = 0
  let total = 0
  for await (const piece of body) {
    total += piece.length
    if (total > bytesMax) throw objectTooLarge(bytesMax)
    for (let at = 0; at < piece.length; ) {
      chunk ??= buffers.take(chunkSize)
      const take = Math.min(piece.length - at, chunkSize - filled)
      chunk.set(piece.subarray(at, at + take), filled)
      filled += take
      at += take
      if (filled < chunkSize) continue
      yield chunk
      chunk = undefined
      filled = 0
    }
  }
  if (chunk !== undefined) yield chunk.subarray(0, filled)
}
