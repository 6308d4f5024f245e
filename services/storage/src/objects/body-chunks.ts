/** Bodies cut into chunks. */
import { CairnError } from '@cairn/kernel'
import { CHUNK_BYTES_MAX } from '@cairn/store'
import { objectTooLarge } from '../errors.ts'

const LENGTH_BYTES = 4

/**
 * Chunks out of frames of `length (4 bytes, highest first) ‖ bytes`, however the stream was cut. Each is good until the
 * next but one is asked for.
 */
export async function* readFrames(
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  framesMax: number,
): AsyncGenerator<Uint8Array> {
  const buffers = new DoubleBuffer()
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

/**
 * Two buffers, filled in turn: one is written while the next chunk arrives in the other.
 *
 *     take ─▶ A, take ─▶ B, take ─▶ A …        what is in a buffer is good until the next but one is taken
 */
class DoubleBuffer {
  #older = new Uint8Array(0)
  #newer = new Uint8Array(0)

  take(length: number): Uint8Array {
    const buffer = this.#older.length < length ? new Uint8Array(length) : this.#older
    this.#older = this.#newer
    this.#newer = buffer
    return buffer.subarray(0, length)
  }
}

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
  const buffers = new DoubleBuffer()
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
