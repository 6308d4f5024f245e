import { DEFAULT_CHUNK_BYTES } from '@cairn/wire'

const LENGTH_BYTES = 4
const FRAME_BYTES = LENGTH_BYTES + DEFAULT_CHUNK_BYTES

/**
 * Chunks on their way, in one buffer that is filled again and again. It is what `POST /c` takes:
 *
 *     │ length │ chunk │ length │ chunk │ …        four bytes of length, the highest first; only the last is shorter
 */
export class Batch {
  #frames = new Uint8Array(0)
  #filled = 0

  /** Chunks that take no more bytes. */
  get wholeChunks(): number {
    return Math.floor(this.#filled / FRAME_BYTES)
  }

  /** Takes bytes up to the end of a chunk; returns how many. */
  add(bytes: Uint8Array): number {
    if (this.#filled % FRAME_BYTES === 0) this.#begin()
    const count = Math.min(bytes.length, FRAME_BYTES - (this.#filled % FRAME_BYTES))
    this.#frames.set(bytes.subarray(0, count), this.#filled)
    this.#filled += count
    return count
  }

  /** The chunks where they lie, good until `framed` or `empty`. */
  chunks(): Uint8Array[] {
    const chunks: Uint8Array[] = []
    for (let at = 0; at < this.#filled; at += FRAME_BYTES)
      chunks.push(this.#frames.subarray(at + LENGTH_BYTES, Math.min(at + FRAME_BYTES, this.#filled)))
    return chunks
  }

  /** The body that sends these of the chunks, given in their order. They are moved together, so it can be asked once. */
  framed(chunks: readonly Uint8Array[]): Uint8Array {
    const view = new DataView(this.#frames.buffer)
    let at = 0
    for (const { byteOffset, length } of chunks) {
      view.setUint32(at, length)
      at += LENGTH_BYTES
      if (byteOffset !== at) this.#frames.copyWithin(at, byteOffset, byteOffset + length)
      at += length
    }
    return this.#frames.subarray(0, at)
  }

  /** To be filled from the start; nobody may look at what was in it. */
  empty(): this {
    this.#filled = 0
    return this
  }

  /** Grows by doubling, since most objects are short. */
  #begin(): void {
    if (this.#frames.length < this.#filled + FRAME_BYTES) {
      const grown = new Uint8Array(Math.max(FRAME_BYTES, 2 * this.#frames.length))
      grown.set(this.#frames.subarray(0, this.#filled))
      this.#frames = grown
    }
    this.#filled += LENGTH_BYTES
  }
}
