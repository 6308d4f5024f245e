import { CairnError } from '@cairn/kernel'
import { CHUNK_BYTES_MAX } from '@cairn/store'
import { TwoBuffers } from './two-buffers.ts'

const LENGTH_BYTES = 4

/**
 * Chunks out of frames of `length (4 bytes, highest first) ‖ bytes`, however the stream was cut. Each is good until the
 * next but one is asked for.
 */
export async function* readFrames(
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  framesMax: number,
): AsyncGenerator<Uint8Array> {
  const buffers = new TwoBuffers()
  const head = new Uint8Array(LENGTH_BYTES)
  let headFilled = 0
  let chunk: Uint8Array | undefined
  let filled = 0
  let frames = 0
  for await (const piece of body) {
    for (let at = 0; at < piece.length; ) {
      if (chunk === undefined) {
        const take = Math.min(piece.length - at, LENGTH_BYTES - headFilled)
        head.set(piece.subarray(at, at + take), headFilled)
        headFilled += take
        at += take
        if (headFilled < LENGTH_BYTES) continue
        frames += 1
        if (frames > framesMax) throw new CairnError('TooLarge', `One request takes at most ${framesMax} chunks.`)
        chunk = buffers.take(lengthIn(head))
        filled = 0
        headFilled = 0
      }
      const take = Math.min(piece.length - at, chunk.length - filled)
      chunk.set(piece.subarray(at, at + take), filled)
      filled += take
      at += take
      if (filled < chunk.length) continue
      yield chunk
      chunk = undefined
    }
  }
  if (chunk !== undefined || headFilled > 0) throw badFrame('The body ends in the middle of a frame.')
}

function lengthIn(head: Uint8Array): number {
  const length = new DataView(head.buffer, head.byteOffset).getUint32(0)
  if (length >= 1 && length <= CHUNK_BYTES_MAX) return length
  throw badFrame(`A chunk has 1 to ${CHUNK_BYTES_MAX} bytes; a frame says ${length}.`)
}

function badFrame(detail: string): CairnError {
  return new CairnError('Malformed', detail, { code: 'bad_frame' })
}
