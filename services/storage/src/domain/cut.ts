/** Bodies cut into chunks. */
import { objectTooLarge } from '../errors.ts'

/** The chunks of a body that is here whole; they share its memory. */
export function* cutWhole(body: Uint8Array, chunkSize: number): Generator<Uint8Array> {
  for (let at = 0; at < body.length; at += chunkSize) yield body.subarray(at, at + chunkSize)
}

/** The chunks of a body as it comes, however the stream was cut; each is a buffer of its own. */
export async function* cutStream(
  body: AsyncIterable<Uint8Array>,
  chunkSize: number,
  bytesMax: number,
): AsyncGenerator<Uint8Array> {
  let chunk = new Uint8Array(chunkSize)
  let filled = 0
  let total = 0
  for await (const piece of body) {
    total += piece.length
    if (total > bytesMax) throw objectTooLarge(bytesMax)
    for (let at = 0; at < piece.length; ) {
      const take = Math.min(piece.length - at, chunkSize - filled)
      chunk.set(piece.subarray(at, at + take), filled)
      filled += take
      at += take
      if (filled < chunkSize) continue
      yield chunk
      chunk = new Uint8Array(chunkSize)
      filled = 0
    }
  }
  if (filled > 0) yield chunk.subarray(0, filled)
}
